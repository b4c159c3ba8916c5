// SPDX-License-Identifier: Apache-2.0
#include "op/cross_entropy.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

using Values = std::vector<double>;

TEST(CrossEntropy, TargetsMayHaveStrides) {
  // The tokens but the first, of text whose last axis is one longer.
  const Tensor text = from_values(Values{0, 1, 2, 2, 0, 1}, {2, 3}, int32);
  const Tensor strided = slice(text, 1, 1, 3), dense = from_values(Values{1, 2, 0, 1}, {2, 2}, int32);
  const Tensor logits = random_normal({2, 2, 3}, 1, 1), weight = random_normal({5, 3}, 2, 1);
  EXPECT_EQ(cross_entropy(logits, strided).item(), cross_entropy(logits, dense).item());
  EXPECT_EQ(linear_cross_entropy(logits, weight, strided).item(),
            linear_cross_entropy(logits, weight, dense).item());
}

// Logits of all positions but the last, against the tokens that follow.
TEST(CrossEntropy, LogitsMayHaveStrides) {
  const Tensor targets = from_values(Values{1, 2, 0, 1}, {2, 2}, int32);
  const Tensor all = random_normal({2, 3, 3}, 1, 1).set_requires_grad();
  const Tensor strided = slice(all, 1, 0, 2);
  ASSERT_FALSE(strided.is_contiguous());
  const Tensor dense = reshape(strided.detach(), {2, 2, 3}).set_requires_grad();
  ASSERT_TRUE(dense.is_contiguous());
  const Tensor loss = cross_entropy(strided, targets), expected = cross_entropy(dense, targets);
  EXPECT_EQ(loss.item(), expected.item());
  loss.backward(), expected.backward();
  EXPECT_EQ(slice(all.grad(), 1, 0, 2).to_vector(), dense.grad().to_vector());
  EXPECT_EQ(slice(all.grad(), 1, 2, 3).to_vector(), Values(6, 0));
}

TEST(CrossEntropy, RowsWithoutClassesMayBeIgnored) {
  const Tensor logits = zeros({2, 3, 0}).set_requires_grad();
  const Tensor loss = cross_entropy(logits, full({2, 3}, -100, int32));
  EXPECT_EQ(loss.item(), 0);
  loss.backward();
  EXPECT_EQ(logits.grad().shape(), logits.shape());
}

}  // namespace
}  // namespace halftone
