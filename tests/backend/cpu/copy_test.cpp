// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& cpu() { return find_backend("cpu"); }

TEST(CpuCopy, CodesOfOneFormatMoveUnchanged) {
  for (const DType dtype : {float32, float16}) {
    const Tensor x = empty({70, 50}, dtype);
    // Every pattern of bytes, signalling NaNs with payloads among them.
    auto* bytes = static_cast<unsigned char*>(x.raw_mutable());
    for (std::int64_t i = 0; i < x.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + i / 256);
    const Tensor turned = x.view({50, 70}, {1, 50}, 0), y = empty({50, 70}, dtype),
                 back = empty({70, 50}, dtype);
    cpu().copy(turned, y);
    cpu().copy(y.view({70, 50}, {1, 70}, 0), back);
    expect_same(back, x, std::string(dtype.name()));
  }
}

TEST(CpuCopy, All64BitsOfAnIntegerSurvive) {
  const Tensor x = empty({2}, int64), y = empty({2}, int64);
  auto* values = static_cast<std::int64_t*>(x.raw_mutable());
  values[0] = (std::int64_t{1} << 62) + 1;
  values[1] = -(std::int64_t{1} << 53) - 1;
  cpu().copy(x, y);
  expect_same(y, x, "int64");
}

// 1 + 2^-11 + 2^-30 lies above the tie between two float16; through float32 it would become the tie.
TEST(CpuCopy, Float64IsRoundedOnce) {
  const Tensor x = full({1}, 1 + 0x1p-11 + 0x1p-30, float64), y = empty({1}, float16);
  cpu().copy(x, y);
  EXPECT_EQ(y.item(), 1 + 0x1p-10);
}

TEST(CpuCopy, LargeWholeNumbersReachFloat64Exactly) {
  const Tensor x = full({1}, 16777217, int32), y = empty({1}, float64);
  cpu().copy(x, y);
  EXPECT_EQ(y.item(), 16777217);
}

TEST(CpuCopy, ANarrowFormatReachesAnotherWithOneRounding) {
  const Tensor x = from_values({65504, 1 + 0x1p-10, 0x1p-24}, float16), y = empty({3}, bfloat16);
  cpu().copy(x, y);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{65536, 1, 0x1p-24}));
}

TEST(CpuCopy, PermutationsOfManyDimensionsOnAnyNumberOfThreads) {
  const Tensor x = random_normal({9, 40, 33, 5}, 1, 0);
  const Shape& s = x.strides();
  const Tensor permuted = x.view({5, 40, 9, 33}, {s[3], s[1], s[0], s[2]}, 0);
  const Tensor expected = empty(permuted.shape());
  find_backend("reference").copy(permuted, expected);
  expect_the_same_bits_everywhere(
      [&] {
        const Tensor y = empty(permuted.shape());
        cpu().copy(permuted, y);
        expect_same(y, expected, "permuted");
        return y;
      },
      "permuted");
}

}  // namespace
}  // namespace halftone
