// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "amp/support.h"
#include "halftone/optim.h"

namespace halftone::optim {
namespace {

TEST(Schedule, WarmsUpLinearlyFromTheFirstStep) {
  for (int step = 0; step < 10; ++step) EXPECT_DOUBLE_EQ(warmup_cosine(step, 10, 110, 2), 0.2 * (step + 1));
}

TEST(Schedule, FallsAsHalfACosine) {
  EXPECT_DOUBLE_EQ(warmup_cosine(10, 10, 110, 2, 1), 2);
  EXPECT_NEAR(warmup_cosine(35, 10, 110, 2, 1), 1 + 0.5 * (1 + 0.70710678118654752), 1e-12);
  EXPECT_NEAR(warmup_cosine(60, 10, 110, 2, 1), 1.5, 1e-12);
  EXPECT_NEAR(warmup_cosine(109, 10, 110, 2, 1), 1, 1e-3);
  EXPECT_EQ(warmup_cosine(110, 10, 110, 2, 1), 1);
  EXPECT_EQ(warmup_cosine(1000, 10, 110, 2, 1), 1);
}

TEST(Schedule, NeedsNoWarmUp) {
  EXPECT_EQ(warmup_cosine(0, 0, 10, 3), 3);
  EXPECT_EQ(warmup_cosine(0, 0, 0, 3, 1), 1);
}

TEST(Schedule, RefusesAWarmUpLongerThanTheRun) {
  EXPECT_THROW(warmup_cosine(0, 11, 10, 1), ValueError);
  EXPECT_THROW(warmup_cosine(0, -1, 10, 1), ValueError);
}

TEST(Schedule, RefusesAStepBeforeTheFirst) {
  EXPECT_THROW(warmup_cosine(-1, 10, 110, 2), ValueError);
  EXPECT_THROW(warmup_cosine(-1, 0, 10, 2), ValueError);
}

TEST(Schedule, DoesNotAdvanceOnASkippedStep) {  // fault B1
  Tensor w = leaf({0});
  SGD optimizer({{"w", w}});
  amp::GradScaler scaler;
  const auto step = [&](double gradient) {
    optimizer.set_lr(warmup_cosine(optimizer.steps(), 10, 100, 1));
    optimizer.zero_grad();
    scaler.scale(loss_with_gradient(w, {gradient})).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  step(kInf);
  step(1);  // the first applied step uses the first rate
  EXPECT_FLOAT_EQ(static_cast<float>(w.item()), -0.1f);
  step(1);
  EXPECT_FLOAT_EQ(static_cast<float>(w.item()), -0.3f);
}

}  // namespace
}  // namespace halftone::optim
