// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(MeanLoss, IsTheMeanOverElementsInFloat32) {
  const Tensor x = full({4}, 300, float16), t = zeros({4});
  EXPECT_EQ(mse_loss(x, t).item(), 90000) << "300^2 is infinite in float16";
  EXPECT_EQ(mse_loss(x, t).dtype(), float32);
}

TEST(MeanLoss, LogitsOfAnySizeAreFine) {
  const Tensor x = from_values({1000, -1000}), t = from_values({0, 1});
  EXPECT_EQ(binary_cross_entropy_with_logits(x, t).item(), 1000);
}

TEST(MeanLoss, RefusesWhatItCanNotDifferentiate) {
  const Tensor x = ones({2}), t = ones({2}).set_requires_grad();
  EXPECT_THROW(mse_loss(x, t), ValueError);
  EXPECT_THROW(mse_loss(x, ones({3})), ShapeError);
  EXPECT_THROW(mse_loss(zeros({0}), zeros({0})), ShapeError);
}

}  // namespace
}  // namespace halftone
