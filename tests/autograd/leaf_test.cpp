// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/autograd.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(Leaf, OnlyFloatingTensorsRequireGradients) {
  EXPECT_THROW(zeros({2}, int32).set_requires_grad(), DTypeError);
  EXPECT_TRUE(zeros({2}, float8_e5m2).set_requires_grad().requires_grad());
  EXPECT_FALSE(zeros({2}).set_requires_grad().set_requires_grad(false).requires_grad());
}

TEST(Leaf, GradIsUndefinedUntilBackwardAndAfterZeroGrad) {
  Tensor x = ones({2}).set_requires_grad();
  EXPECT_FALSE(x.grad().defined());
  sum(x).backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{1, 1}));
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Leaf, DetachAndNoGradCutTheGraph) {
  const Tensor x = ones({2}).set_requires_grad();
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_FALSE(no_grad([&] { return scale(x, 2); }).requires_grad());
  EXPECT_TRUE(scale(x, 2).requires_grad());
}

TEST(Leaf, CarriesAName) {
  const Tensor x = ones({2}).set_requires_grad();
  set_name(x, "up.weight");
  EXPECT_EQ(name_of(x), "up.weight");
  EXPECT_EQ(name_of(ones({1})), "");
}

}  // namespace
}  // namespace halftone
