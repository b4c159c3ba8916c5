// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/autograd.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(BatchNorm, ATrainingCallBeforeBackwardIsNotSeenByAnEvaluation) {
  const Tensor mean = zeros({1}), variance = ones({1}), bias = zeros({1});
  const Tensor weight = ones({1}).set_requires_grad();
  const Tensor x = from_values(std::vector<double>{3, 5}, {2, 1});
  const ThreadStateScope scope;
  thread_state().training = false;
  const Tensor y = batch_norm(x, weight, bias, mean, variance, 0.5, 0);
  thread_state().training = true;
  batch_norm(x, weight, bias, mean, variance, 0.5, 0);
  EXPECT_EQ(mean.item(), 2) << "half of the batch's";
  sum(y).backward();
  EXPECT_EQ(weight.grad().item(), 8) << "the sum of x - 0";
}

}  // namespace
}  // namespace halftone
