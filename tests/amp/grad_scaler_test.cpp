// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/optim.h"

namespace halftone::amp {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One weight, plain SGD with learning rate 1: the weight shows which gradient was applied.
struct Toy {
  Tensor w = leaf({0});
  optim::SGD optimizer{{{"layer.w", w}}, {.lr = 1}};

  void backward(GradScaler& scaler, double gradient) {
    scaler.scale(loss_with_gradient(w, {gradient})).backward();
  }
  double applied() { return -w.item(); }
};

StepResult step_and_update(GradScaler& scaler, Optimizer& optimizer) {
  const StepResult result = scaler.step(optimizer);
  scaler.update();
  return result;
}

TEST(GradScaler, ScalesTheLossInFloat32) {  // fault B17
  GradScaler scaler;
  Tensor loss = leaf({2}, float16);
  const Tensor scaled = scaler.scale(loss);
  EXPECT_EQ(scaled.dtype(), float32);
  EXPECT_EQ(scaled.item(), 131072);
  scaled.backward();
  EXPECT_EQ(loss.grad().item(), 65536);
  EXPECT_EQ(autocast(float16, [&] { return scaler.scale(loss); }).item(), 131072);
}

TEST(GradScaler, AppliesTheUnscaledGradient) {
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, 3);
  EXPECT_EQ(toy.w.grad().item(), 3 * 65536.0);
  const StepResult result = step_and_update(scaler, toy.optimizer);
  EXPECT_TRUE(result.applied());
  EXPECT_EQ(result.gradient_norm, 3);
  EXPECT_EQ(result.scale, 65536);
  EXPECT_EQ(toy.applied(), 3);
  EXPECT_THAT(result.describe(), HasSubstr("applied"));
}

TEST(GradScaler, DividesByTheScaleThatProducedTheGradients) {  // fault A7
  GradScaler scaler({.init_scale = 4, .growth_interval = 1});
  Toy toy;
  for (int i = 1; i <= 10; ++i) {
    toy.optimizer.zero_grad();
    toy.backward(scaler, 1);
    step_and_update(scaler, toy.optimizer);
    EXPECT_EQ(toy.applied(), i);
  }
  EXPECT_EQ(scaler.state().scale, 4096);
}

TEST(GradScaler, AnOverflowedStepLeavesTheWeightsUntouched) {  // faults B2, B3
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, kInf);
  const StepResult result = step_and_update(scaler, toy.optimizer);
  EXPECT_EQ(result.outcome, StepOutcome::skipped_overflow);
  EXPECT_EQ(result.skips_in_a_row, 1);
  EXPECT_EQ(toy.applied(), 0);
  EXPECT_EQ(toy.optimizer.steps(), 0);
  EXPECT_EQ(scaler.state(), (ScalerState{32768, 0, 1, 1}));
  EXPECT_EQ(result.culprit, "layer.w: 1 inf, 0 NaN of 1");
  EXPECT_THAT(result.describe(), HasSubstr("layer.w: 1 inf"));
}

TEST(GradScaler, TheOutcomeIsNotInferredFromTheScale) {  // fault B3
  GradScaler floor({.init_scale = 1});  // at the floor the scale does not move on an overflow
  Toy toy;
  toy.backward(floor, kInf);
  EXPECT_EQ(step_and_update(floor, toy.optimizer).outcome, StepOutcome::skipped_overflow);
  EXPECT_EQ(floor.state().scale, 1);

  GradScaler growing({.growth_interval = 1});
  toy.backward(growing, 1);
  EXPECT_EQ(step_and_update(growing, toy.optimizer).outcome, StepOutcome::applied);
  EXPECT_EQ(growing.state().scale, 131072);
}

TEST(GradScaler, ASkippedStepCarriesNothingOver) {  // fault A9
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, kInf);
  step_and_update(scaler, toy.optimizer);
  toy.backward(scaler, 1);  // without zero_grad
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());
  EXPECT_EQ(toy.applied(), 1);
}

TEST(GradScaler, ClippingBetweenUnscaleAndStepSurvivesAnOverflow) {
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, kNan);
  scaler.unscale(toy.optimizer);
  EXPECT_EQ(optim::clip_grad_norm(toy.optimizer, 1), 0);
  EXPECT_EQ(step_and_update(scaler, toy.optimizer).outcome, StepOutcome::skipped_overflow);
  EXPECT_EQ(toy.applied(), 0);
}

TEST(GradScaler, ClipsTrueGradients) {  // fault B5
  for (const bool fused : {false, true}) {
    GradScaler scaler;
    Tensor w = leaf({0, 0});
    optim::SGD optimizer({{"w", w}}, {.lr = 1});
    scaler.scale(loss_with_gradient(w, {3, 4})).backward();
    if (!fused) {
      scaler.unscale(optimizer);
      EXPECT_EQ(optim::clip_grad_norm(optimizer, 1), 5);
    }
    const StepResult result = fused ? scaler.step(optimizer, 1) : scaler.step(optimizer);
    EXPECT_EQ(result.gradient_norm, 5);
    EXPECT_THAT(w.to_vector(), ElementsAre(DoubleNear(-0.6, 1e-7), DoubleNear(-0.8, 1e-7)));
  }
}

TEST(GradScaler, AThreeHundredBatchLongOverflowBecomesAnErrorThatNamesTheCulprit) {  // faults A1, A5, A21
  GradScaler scaler({.max_skips_in_a_row = 20});
  Toy toy;
  for (int i = 1; i < 20; ++i) {
    toy.backward(scaler, kNan);
    ASSERT_EQ(step_and_update(scaler, toy.optimizer).skips_in_a_row, i);
  }
  EXPECT_EQ(scaler.state().scale, 1);
  for (int i = 20; i < 300; ++i) {  // a caller who carries on is told again, and nothing is ever applied
    toy.backward(scaler, kNan);
    const std::string message = message_of([&] { scaler.step(toy.optimizer); });
    ASSERT_THAT(message, HasSubstr("layer.w: 0 inf, 1 NaN of 1"));
    ASSERT_THAT(message, HasSubstr("not a scaling problem"));
    ASSERT_EQ(toy.applied(), 0);
    ASSERT_EQ(scaler.state(), (ScalerState{1, 0, i, i, 0, i - 16}));
  }
  toy.backward(scaler, 1);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());
  EXPECT_EQ(toy.applied(), 1);
}

TEST(GradScaler, ADisabledScalerStillSkipsAndCounts) {  // fault A19
  GradScaler scaler({.max_skips_in_a_row = 3, .enabled = false});
  Toy toy;
  EXPECT_EQ(scaler.state().scale, 1);
  EXPECT_EQ(scaler.options().growth_interval, 2000);  // fault E8: configured values stay readable
  toy.backward(scaler, kNan);
  EXPECT_EQ(step_and_update(scaler, toy.optimizer).outcome, StepOutcome::skipped_overflow);
  EXPECT_EQ(toy.applied(), 0);
  EXPECT_EQ(scaler.state(), (ScalerState{.skips_in_a_row = 1, .skips = 1, .enabled = false}));
  toy.backward(scaler, 2);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());
  EXPECT_EQ(toy.applied(), 2);
  toy.backward(scaler, kNan);
  step_and_update(scaler, toy.optimizer);
  toy.backward(scaler, kNan);
  step_and_update(scaler, toy.optimizer);
  toy.backward(scaler, kNan);
  EXPECT_THROW(scaler.step(toy.optimizer), NonFiniteError);
}

TEST(GradScaler, NoGradientAtAllIsNothingToDo) {  // faults B12, B13
  GradScaler scaler;
  Toy toy;
  EXPECT_EQ(step_and_update(scaler, toy.optimizer).outcome, StepOutcome::nothing_to_do);
  EXPECT_EQ(toy.optimizer.steps(), 0);
  EXPECT_EQ(scaler.state(), (ScalerState{65536, 1, 0, 0}));
  scaler.update();  // without any step
  EXPECT_EQ(scaler.state(), (ScalerState{65536, 2, 0, 0}));
  EXPECT_THAT(StepResult{}.describe(), HasSubstr("no parameter has a gradient"));
}

TEST(GradScaler, ASecondUnscaleIsAnErrorAndTouchesNothing) {  // fault B7
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, 3);
  scaler.unscale(toy.optimizer);
  EXPECT_THROW(scaler.unscale(toy.optimizer), ValueError);
  EXPECT_EQ(toy.w.grad().item(), 3);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());  // the window is still usable
  EXPECT_EQ(toy.applied(), 3);
}

TEST(GradScaler, ASecondStepIsAnError) {
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, 1);
  scaler.step(toy.optimizer);
  EXPECT_THROW(scaler.step(toy.optimizer), ValueError);
  EXPECT_EQ(toy.applied(), 1);
}

TEST(GradScaler, AStepNotTakenCanBeAbandoned) {  // fault B8
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, 1000);
  scaler.unscale(toy.optimizer);
  scaler.abandon();
  EXPECT_EQ(scaler.state(), (ScalerState{65536, 0, 0, 0}));
  toy.optimizer.zero_grad();
  toy.backward(scaler, 2);
  scaler.unscale(toy.optimizer);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());
  EXPECT_EQ(toy.applied(), 2);
}

TEST(GradScaler, LoadingIsIdempotentAndUsableBeforeFirstUse) {  // faults A14, A15, A16
  const ScalerState saved{1024, 1, 0, 7};
  GradScaler scaler({.growth_interval = 2});
  scaler.load(saved);
  scaler.load(saved);
  EXPECT_EQ(scaler.state(), saved);
  Toy toy;
  loss_with_gradient(toy.w, {2048}).backward();  // as if scaled by 1024 before the restart
  scaler.unscale(toy.optimizer);
  EXPECT_EQ(toy.w.grad().item(), 2);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());
  EXPECT_EQ(scaler.state(), (ScalerState{2048, 0, 0, 7}));

  GradScaler resumed;  // a gradient of 200 fits float16 at the saved scale and not at the initial one
  resumed.load({256, 0, 0, 0});
  const Tensor held = cast(full({1}, 200.0 * resumed.state().scale), float16);
  EXPECT_EQ(held.item(), 51200);
}

TEST(GradScaler, AStateThatCanNotBeIsRefused) {
  GradScaler scaler;
  for (const ScalerState& state :
       {ScalerState{0, 0, 0, 0}, ScalerState{-1, 0, 0, 0}, ScalerState{NAN, 0, 0, 0},
        ScalerState{INFINITY, 0, 0, 0}, ScalerState{0.5, 0, 0, 0}, ScalerState{1e9f, 0, 0, 0},
        ScalerState{1024, -1, 0, 0}, ScalerState{1024, 0, 2, 1}, ScalerState{1024, 0, -1, 0},
        ScalerState{1024, 0, 0, 0, -1}, ScalerState{1024, 0, 0, 0, 0, -1}, ScalerState{1024, 0, 1, 1, 0, 2},
        ScalerState{.scale = 1024, .history = {.steps = -1}},
        ScalerState{.scale = 1024, .history = {.mean = kNan}},
        ScalerState{.scale = 1024, .history = {.variance = -1}},
        ScalerState{.scale = 1024, .history = {.variance = kInf}}}) {
    EXPECT_THROW(scaler.load(state), ValueError) << state.scale;
    EXPECT_EQ(scaler.state(), (ScalerState{65536, 0, 0, 0}));
  }
}

TEST(GradScaler, StatesMoveBetweenEnabledAndDisabledInAnyOrder) {  // fault A17: float16 resumed as bfloat16
  const ScalerOptions on{.init_scale = 4096}, off{.enabled = false};
  const ScalerState enabled{1024, 3, 1, 9, 0, 1};
  const ScalerState disabled{.skips_in_a_row = 1, .skips = 9, .enabled = false};
  const ScalerState fresh{.scale = 4096, .skips_in_a_row = 1, .skips = 9};
  const struct {
    ScalerOptions options;
    ScalerState saved, loaded;
  } rows[] = {
      {on, enabled, enabled}, {off, enabled, disabled}, {off, disabled, disabled}, {on, disabled, fresh}};
  for (const auto& row : rows)
    for (const bool used : {false, true}) {
      GradScaler scaler(row.options);
      Toy toy;
      if (used) {
        toy.backward(scaler, 1);
        step_and_update(scaler, toy.optimizer);
        toy.optimizer.zero_grad();
      }
      scaler.load(row.saved);
      EXPECT_EQ(scaler.state(), row.loaded);
      scaler.load(scaler.state());
      EXPECT_EQ(scaler.state(), row.loaded);
      const double before = toy.applied();
      toy.backward(scaler, 2);
      EXPECT_EQ(step_and_update(scaler, toy.optimizer).scale, row.loaded.scale);
      EXPECT_EQ(toy.applied(), before + 2);
    }
}

TEST(GradScaler, ANewScaleHoldsFromTheNextWindowOn) {  // faults A7, E7
  GradScaler scaler({.hysteresis = 3});
  scaler.load({65536, 7, 0, 4, 1});
  scaler.set_scale(1024);
  EXPECT_EQ(scaler.state(), (ScalerState{1024, 0, 0, 4, 1}));  // clean steps from 0, nothing else forgotten
  Toy toy;
  toy.backward(scaler, 1);
  EXPECT_EQ(toy.w.grad().item(), 1024);
  scaler.set_scale(8);  // between backward and unscale: what was scaled by 1024 is divided by 1024
  toy.backward(scaler, 1);
  EXPECT_EQ(step_and_update(scaler, toy.optimizer).scale, 1024);
  EXPECT_EQ(toy.applied(), 2);
  EXPECT_EQ(scaler.state().scale, 8);

  GradScaler other;  // an overflow of the window in progress is not forgotten
  toy.optimizer.zero_grad();
  toy.backward(other, kInf);
  other.step(toy.optimizer);
  other.set_scale(1024);
  other.update();
  EXPECT_EQ(other.state(), (ScalerState{512, 0, 1, 1}));

  for (const double bad : {0.0, -1.0, 0.5, 1e9, kInf, kNan}) EXPECT_THROW(scaler.set_scale(bad), ValueError);
  EXPECT_EQ(scaler.state().scale, 8);
  GradScaler disabled({.enabled = false});
  EXPECT_THROW(disabled.set_scale(8), ValueError);
}

TEST(GradScaler, AWindowMayHoldAnyNumberOfMicroBatches) {  // fault B7
  for (const int window : {1, 2, 3, 7}) {
    GradScaler scaler({.init_scale = 4, .growth_interval = 1});
    Toy toy;
    for (int i = 1; i <= 4; ++i) {
      toy.optimizer.zero_grad();
      for (int k = 0; k < window; ++k) toy.backward(scaler, 1);
      step_and_update(scaler, toy.optimizer);
      EXPECT_EQ(toy.applied(), i * window);
    }
    EXPECT_EQ(scaler.state().scale, 64);
  }
}

TEST(GradScaler, DividesByTheWeightOfASumWithOneRounding) {
  for (const double scale : {65536.0, 3.0})
    for (const double weight : {1.0, 3.0, 7.0, 1e6}) {
      GradScaler scaler({.init_scale = scale});
      Toy toy;
      toy.backward(scaler, 5);
      const float scaled = static_cast<float>(toy.w.grad().item());
      scaler.unscale(toy.optimizer, weight);
      EXPECT_EQ(toy.w.grad().item(), static_cast<float>(scaled / (scale * weight)));
    }
  GradScaler scaler;
  Toy toy;
  for (const double bad : {0.0, -1.0, kInf, kNan})
    EXPECT_THROW(scaler.unscale(toy.optimizer, bad), ValueError);
}

TEST(GradScaler, AClipNormOutOfRangeIsRefused) {
  GradScaler scaler;
  Toy toy;
  toy.backward(scaler, 1);
  for (const double bad : {-1.0, kInf, kNan}) EXPECT_THROW(scaler.step(toy.optimizer, bad), ValueError);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());  // the window is still usable
}

TEST(GradScaler, ThePredictiveRuleSeesTheLargestUnscaledGradient) {
  GradScaler scaler({.init_scale = 4, .rule = ScalerRule::predictive});
  Tensor w = leaf({0, 0}), v = leaf({0});
  optim::SGD first({{"w", w}}), second({{"v", v}});
  scaler.scale(loss_with_gradient(w, {0.5, -8})).backward();
  scaler.scale(loss_with_gradient(v, {2})).backward();
  scaler.step(first);
  scaler.step(second);
  scaler.update();
  EXPECT_EQ(scaler.state().history,
            (GradientHistory{.steps = 1, .mean = 3}));  // log2 of 8, of all optimizers
  EXPECT_EQ(scaler.state().scale, 4096);                // 2^floor(15.99 - 3)
}

TEST(GradScaler, ALossThatIsNotFiniteEndsTheWindowAndCounts) {  // fault A10
  GradScaler scaler({.max_skips_in_a_row = 3});
  Toy toy;
  for (int i = 1; i < 3; ++i) {
    const StepResult result = scaler.reject_loss("the loss is NaN");
    EXPECT_EQ(result.outcome, StepOutcome::loss_not_finite);
    EXPECT_EQ(result.skips_in_a_row, i);
    EXPECT_EQ(scaler.state(), (ScalerState{65536, 0, i, i}));
  }
  EXPECT_THAT(message_of([&] { scaler.reject_loss("the loss is NaN"); }), HasSubstr("the loss is NaN"));
  toy.backward(scaler, 1);
  EXPECT_TRUE(step_and_update(scaler, toy.optimizer).applied());
  EXPECT_EQ(scaler.state(), (ScalerState{65536, 1, 0, 3}));
}

TEST(GradScaler, SmallGradientsSurviveFloat16OnlyWhenScaled) {  // fault B18
  const auto gradient_of_product = [](bool enabled) {
    GradScaler scaler({.enabled = enabled});
    Tensor w = from_values({1}, float32);
    w = reshape(w, {1, 1}).detach().set_requires_grad();
    optim::SGD optimizer({{"w", w}}, {.lr = 1});
    const Tensor y = autocast(float16, [&] { return matmul(ones({1, 1}), w); });
    scaler.scale(scale(sum(y), 1e-8)).backward();
    scaler.unscale(optimizer);
    return w.grad().item();
  };
  EXPECT_EQ(gradient_of_product(false), 0);
  EXPECT_NEAR(gradient_of_product(true), 1e-8, 1e-11);
}

}  // namespace
}  // namespace halftone::amp
