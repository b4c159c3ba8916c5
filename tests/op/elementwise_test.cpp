// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(Elementwise, GradientsOfBroadcastOperandsAreSummed) {
  const Tensor a = ones({2, 3}).set_requires_grad(), b = ones({3}).set_requires_grad(),
               c = ones({}).set_requires_grad();
  sum(mul(add(a, b), c)).backward();
  EXPECT_EQ(b.grad().to_vector(), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(c.grad().item(), 12);
}

TEST(Elementwise, TheSumOverABroadcastAxisIsTakenInFloat32) {
  const Tensor b = zeros({1}, bfloat16).set_requires_grad();
  sum(add(zeros({1000, 1}, bfloat16), b)).backward();
  EXPECT_EQ(b.grad().item(), 1000);
}

TEST(Elementwise, ReluPassesNanOn) {
  EXPECT_TRUE(std::isnan(relu(from_values({NAN})).item()));
  EXPECT_EQ(relu(from_values({-INFINITY})).item(), 0);
}

}  // namespace
}  // namespace halftone
