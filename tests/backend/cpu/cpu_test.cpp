// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

const Backend& cpu() { return find_backend("cpu"); }

// 1 + 2^-40 is lost as soon as anything passes through float32.
constexpr double kFine = 1 + 0x1p-40;

TEST(Cpu, Float64ContractionsKeepTheirPrecision) {
  const Tensor a = full({1, 1}, kFine, float64), one = full({1, 1}, 1, float64), c = empty({1, 1}, float64);
  cpu().matmul({.a = a, .b = one, .c = c, .bias = Tensor()});
  EXPECT_EQ(c.item(), kFine);

  const Tensor image = full({1, 1, 1, 1}, kFine, float64), filter = full({1, 1, 1, 1}, 1, float64);
  const Tensor y = empty({1, 1, 1, 1}, float64);
  cpu().convolution({.image = image, .filter = filter, .bias = Tensor(), .result = y});
  EXPECT_EQ(y.item(), kFine);
  const Tensor dimage = zeros({1, 1, 1, 1}, float64), dfilter = zeros({1, 1, 1, 1}, float64);
  cpu().convolution_image_gradient({.image = dimage, .filter = filter, .bias = Tensor(), .result = image});
  EXPECT_EQ(dimage.item(), kFine);
  cpu().convolution_filter_gradient({.image = image, .filter = dfilter, .bias = Tensor(), .result = filter});
  EXPECT_EQ(dfilter.item(), kFine);
}

TEST(Cpu, OneFloat64OperandAmongNarrowOnesIsEnough) {
  constexpr Formula kAdd = formula<2>([](auto x, auto y) { return x + y; });
  const Tensor wide = full({3}, kFine, float64), narrow = zeros({3}, bfloat16), sum = empty({3}, float64);
  cpu().elementwise(kAdd, std::array{narrow, wide}, sum);
  EXPECT_EQ(sum.to_vector(), std::vector<double>(3, kFine));
}

TEST(Cpu, HasNoKernelForAnUnknownName) { EXPECT_EQ(cpu().find("no such op"), nullptr); }

}  // namespace
}  // namespace halftone
