// SPDX-License-Identifier: Apache-2.0
//
// Several losses, optimizers and scalers.
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/optim.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

// Two weights with an optimizer each, as of a generator and a discriminator.
struct Pair {
  Tensor w = leaf({0}), v = leaf({0});
  optim::SGD first{{{"first.w", w}}, {.lr = 1}}, second{{{"second.v", v}}, {.lr = 1}};

  void backward(GradScaler& scaler, double first_gradient, double second_gradient) {
    first.zero_grad(), second.zero_grad();
    scaler.scale(loss_with_gradient(w, {first_gradient})).backward();
    scaler.scale(loss_with_gradient(v, {second_gradient})).backward();
  }
};

TEST(SeveralOptimizers, EachIsSteppedOncePerWindowByOneScaler) {
  GradScaler scaler({.init_scale = 4, .growth_interval = 2});
  Pair pair;
  for (int i = 1; i <= 4; ++i) {
    pair.backward(scaler, 1, 2);
    EXPECT_TRUE(scaler.step(pair.first).applied());
    EXPECT_THROW(scaler.step(pair.first), ValueError);
    EXPECT_THROW(scaler.unscale(pair.first), ValueError);
    EXPECT_EQ(pair.v.grad().item(), 2 * scaler.state().scale);  // untouched until its turn
    scaler.unscale(pair.second);
    EXPECT_THROW(scaler.unscale(pair.second), ValueError);
    EXPECT_TRUE(scaler.step(pair.second).applied());
    scaler.update();
    EXPECT_EQ(pair.w.item(), -i);
    EXPECT_EQ(pair.v.item(), -2 * i);
  }
  EXPECT_EQ(scaler.state(), (ScalerState{16, 0, 0, 0}));  // four steps, not eight
}

// As torch.amp: who is finite steps, who is not does not, and the scale backs off once.
TEST(SeveralOptimizers, AnOverflowOfAnyBacksOffOnceWhicheverStepsFirst) {
  for (const bool first_overflows : {false, true})
    for (const bool first_goes_first : {false, true}) {
      GradScaler scaler({.init_scale = 8});
      Pair pair;
      pair.backward(scaler, first_overflows ? kNan : 1, first_overflows ? 1 : kInf);
      Optimizer& one = first_goes_first ? pair.first : pair.second;
      Optimizer& two = first_goes_first ? pair.second : pair.first;
      const StepResult results[] = {scaler.step(one), scaler.step(two)};
      EXPECT_TRUE(scaler.found_inf());
      scaler.update();
      EXPECT_FALSE(scaler.found_inf());
      for (const int i : {0, 1}) {
        const bool overflowed = ((i == 0) == first_goes_first) == first_overflows;
        EXPECT_EQ(results[i].applied(), !overflowed);
        EXPECT_EQ(results[i].culprit.empty(), !overflowed);
      }
      EXPECT_EQ(pair.w.item(), first_overflows ? 0 : -1);
      EXPECT_EQ(pair.v.item(), first_overflows ? -1 : 0);
      EXPECT_EQ(scaler.state(), (ScalerState{4, 0, 1, 1}));
    }
}

TEST(SeveralOptimizers, BothOverflowingIsOneSkip) {
  GradScaler scaler({.init_scale = 8, .max_skips_in_a_row = 2});
  Pair pair;
  pair.backward(scaler, kNan, kNan);
  EXPECT_EQ(scaler.step(pair.first).skips_in_a_row, 1);
  EXPECT_EQ(scaler.step(pair.second).skips_in_a_row, 1);
  scaler.update();
  EXPECT_EQ(scaler.state(), (ScalerState{4, 0, 1, 1}));
  pair.backward(scaler, 1, kNan);
  EXPECT_TRUE(scaler.step(pair.first).applied());
  EXPECT_THAT(message_of([&] { scaler.step(pair.second); }), HasSubstr("second.v: 0 inf, 1 NaN"));
  EXPECT_EQ(scaler.state(), (ScalerState{2, 0, 2, 2}));
}

TEST(SeveralOptimizers, OneWithoutGradientsHasNothingToDo) {  // fault B12
  GradScaler scaler({.init_scale = 8});
  Pair pair;
  scaler.scale(loss_with_gradient(pair.w, {1})).backward();
  EXPECT_TRUE(scaler.step(pair.first).applied());
  EXPECT_EQ(scaler.step(pair.second).outcome, StepOutcome::nothing_to_do);
  scaler.update();
  EXPECT_EQ(scaler.state(), (ScalerState{8, 1, 0, 0}));
}

TEST(SeveralOptimizers, ASharedParameterIsRefusedBeforeItsGradientIsDividedTwice) {
  GradScaler scaler({.init_scale = 8});
  Pair pair;
  optim::SGD both({{"both.v", pair.v}, {"both.w", pair.w}}, {.lr = 1});
  pair.backward(scaler, 1, 2);
  EXPECT_TRUE(scaler.step(pair.first).applied());
  EXPECT_THAT(message_of([&] { scaler.step(both); }), HasSubstr("'both.w', unscaled for another optimizer"));
  EXPECT_EQ(pair.v.grad().item(), 16);
  EXPECT_EQ(pair.w.grad().item(), 1);
  EXPECT_TRUE(scaler.step(pair.second).applied());
  scaler.update();
  pair.backward(scaler, 1, 2);
  EXPECT_TRUE(scaler.step(both).applied());
  EXPECT_EQ(pair.w.item(), -2);
}

TEST(SeveralOptimizers, OneWhoseGradientsWereDroppedAfterUnscaleHasNothingToDo) {
  GradScaler scaler({.init_scale = 8});
  Pair pair;
  pair.backward(scaler, 1, 2);
  scaler.unscale(pair.first);
  pair.first.zero_grad();
  const StepResult result = scaler.step(pair.first);
  EXPECT_EQ(result.outcome, StepOutcome::nothing_to_do);
  EXPECT_EQ(result.gradient_norm, 0);
}

// A loss of weight 4 is scaled as a sum: its gradients, not those of the mean, must fit the format.
TEST(SeveralLosses, ThePredictiveRuleSeesTheLargestGradientOfTheirSum) {
  GradScaler scaler({.init_scale = 4, .rule = ScalerRule::predictive});
  Pair pair;
  pair.backward(scaler, -8, 2);
  scaler.unscale(pair.first, 4);
  scaler.step(pair.first);
  scaler.step(pair.second);
  scaler.update();
  EXPECT_EQ(pair.w.item(), 2);
  EXPECT_EQ(scaler.state().history, (GradientHistory{.steps = 1, .mean = 3}));
  EXPECT_EQ(scaler.state().scale, 4096);  // 2^floor(15.99 - 3)
}

TEST(SeveralLosses, OfOneOptimizerShareTheScaleAndTheirGradientsAdd) {
  GradScaler scaler({.init_scale = 4, .growth_interval = 1});
  Pair pair;
  pair.backward(scaler, 1, 1);
  scaler.scale(loss_with_gradient(pair.w, {5})).backward();
  scaler.step(pair.first);
  scaler.step(pair.second);
  scaler.update();
  EXPECT_EQ(pair.w.item(), -6);
  EXPECT_EQ(pair.v.item(), -1);
}

TEST(SeveralOptimizers, AnAbandonedWindowForgetsAllOfThem) {  // fault B8
  GradScaler scaler({.init_scale = 8});
  Pair pair;
  pair.backward(scaler, kNan, 1);
  scaler.step(pair.first);
  scaler.unscale(pair.second);
  scaler.abandon();
  EXPECT_FALSE(scaler.found_inf());
  EXPECT_EQ(scaler.state(), (ScalerState{8, 0, 0, 0}));
  pair.backward(scaler, 2, 3);
  EXPECT_TRUE(scaler.step(pair.first).applied());
  EXPECT_TRUE(scaler.step(pair.second).applied());
  EXPECT_EQ(pair.w.item(), -2);
  EXPECT_EQ(pair.v.item(), -3);
}

TEST(SeveralScalers, AreIndependent) {
  GradScaler one({.init_scale = 8}), two({.init_scale = 8});
  Pair pair;
  one.scale(loss_with_gradient(pair.w, {kInf})).backward();
  two.scale(loss_with_gradient(pair.v, {1})).backward();
  EXPECT_FALSE(one.step(pair.first).applied());
  EXPECT_TRUE(two.step(pair.second).applied());
  one.update(), two.update();
  EXPECT_EQ(one.state().scale, 4);
  EXPECT_EQ(two.state().scale, 8);
}

TEST(SeveralScalers, ThatShareALossAgreeBeforeEitherDecides) {  // fault A11
  GradScaler one({.init_scale = 8}), two({.init_scale = 8});
  Pair pair;
  one.scale(loss_with_gradient(pair.w, {kInf})).backward();
  two.scale(loss_with_gradient(pair.v, {1})).backward();
  one.unscale(pair.first), two.unscale(pair.second);
  if (one.found_inf() || two.found_inf()) one.reject("the other rank"), two.reject("the other rank");
  EXPECT_THAT(one.step(pair.first).culprit, HasSubstr("first.w"));
  const StepResult result = two.step(pair.second);
  EXPECT_EQ(result.outcome, StepOutcome::skipped_overflow);
  EXPECT_EQ(result.culprit, "the other rank");
  EXPECT_FALSE(pair.v.grad().defined());  // nothing is carried over
  one.update(), two.update();
  EXPECT_EQ(one.state(), (ScalerState{4, 0, 1, 1}));
  EXPECT_EQ(two.state(), one.state());
  // The next step: what one scales, the other may divide.
  two.scale(loss_with_gradient(pair.w, {3})).backward();
  EXPECT_TRUE(one.step(pair.first).applied());
  EXPECT_EQ(pair.w.item(), -3);
}

TEST(SeveralScalers, AScaledLossIsScaledOnce) {  // fault A20: two owners of a scale
  GradScaler inner({.init_scale = 2}), outer({.init_scale = 8});
  Pair pair;
  outer.scale(inner.scale(loss_with_gradient(pair.w, {1}))).backward();
  inner.unscale(pair.first);  // each takes back its own factor, in either order
  outer.unscale(pair.first);
  EXPECT_EQ(pair.w.grad().item(), 1);
}

}  // namespace
}  // namespace halftone::amp
