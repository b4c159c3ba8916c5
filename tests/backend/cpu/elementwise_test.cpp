// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

constexpr Formula kAdd = formula<2>([](auto x, auto y) { return x + y; });
constexpr Formula kRound = formula<3>([](auto x, auto y, auto z) { return (x * y + z) / (x * x + 1); });

const Backend& cpu() { return find_backend("cpu"); }

TEST(CpuElementwise, ThreadsAndSimdLevelsDoNotChangeABit) {
  for (const Shape& shape : {Shape{200001}, Shape{700, 3, 65}})
    for (const DType dtype : kFloating) {
      const Tensor x = random_normal(shape, 1, 0, dtype), y = random_normal({shape[-1]}, 2, 0, dtype),
                   z = random_normal(shape, 3, 0, float32);
      expect_the_same_bits_everywhere(
          [&] {
            const Tensor result = empty(shape, dtype);
            cpu().elementwise(kRound, std::array{x, y, z}, result);
            return result;
          },
          std::string(dtype.name()));
    }
}

// The sum 256 + 0.75 + 0.75 is 257.5; rounding to bfloat16 on the way would give 256 twice.
TEST(CpuElementwise, NarrowOperandsAreAddedInFloat32AndRoundedOnce) {
  constexpr Formula kAdd3 = formula<3>([](auto x, auto y, auto z) { return x + y + z; });
  const Tensor x = full({5}, 256, bfloat16), y = full({5}, 0.75, bfloat16), sum = empty({5}, bfloat16);
  cpu().elementwise(kAdd3, std::array{x, y, y}, sum);
  EXPECT_EQ(sum.to_vector(), std::vector<double>(5, 258));
}

TEST(CpuElementwise, InfinitiesAndNaNPassThrough) {
  const double inf = INFINITY;
  const Tensor x = from_values({inf, -inf, 65504, NAN}, float16),
               y = from_values({1, inf, 65504, 1}, float16), sum = empty({4}, float16);
  cpu().elementwise(kAdd, std::array{x, y}, sum);
  const std::vector<double> values = sum.to_vector();
  EXPECT_EQ(values[0], inf);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], inf);
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(CpuElementwise, ACallIsOneWriteToTheOutputAndNoneToTheInputs) {
  const Tensor x = ones({100000}), y = empty({100000});
  const std::uint64_t x_before = x.version(), y_before = y.version();
  cpu().elementwise(kAdd, std::array{x, x}, y);
  EXPECT_EQ(x.version(), x_before);
  EXPECT_EQ(y.version(), y_before + 1);
}

TEST(CpuElementwise, NothingHappensToNoElements) {
  const Tensor x = empty({0, 3}), y = empty({0, 3});
  EXPECT_NO_THROW(cpu().elementwise(kAdd, std::array{x, x}, y));
}

}  // namespace
}  // namespace halftone
