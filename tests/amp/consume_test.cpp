// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/optim.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

struct Consume : ::testing::Test {
  Tensor a = leaf({1}), b = leaf({1, 1});
  optim::SGD optimizer{{{"a", a}, {"b", b}}, {.lr = 1}};
  void SetUp() override { optimizer.consume_gradients(true); }
  Tensor loss(double of_a, double of_b) {
    const Tensor first = loss_with_gradient(a, {of_a});  // so that the gradient of b is complete before a's
    return first + loss_with_gradient(b, {of_b, 0});
  }
};

TEST_F(Consume, ParametersAreUpdatedInBackwardAndGradientsDropped) {
  loss(0.5, 0.25).backward();
  EXPECT_EQ(a.item(), 0.5);
  EXPECT_EQ(b.to_vector()[0], 0.75);
  EXPECT_FALSE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
  EXPECT_EQ(optimizer.steps(), 1);
  optimizer.step();  // only ends the step
  EXPECT_EQ(optimizer.steps(), 1);
  EXPECT_EQ(a.item(), 0.5);
  loss(0.5, 0).backward();
  EXPECT_EQ(optimizer.steps(), 2);
  EXPECT_EQ(a.item(), 0);
}

TEST_F(Consume, NeverHoldsMoreThanOneGradient) {
  constexpr std::int64_t kSize = 1 << 20;
  Tensor big[4];
  std::vector<Parameter> parameters;
  for (Tensor& w : big)
    parameters.push_back({"w" + std::to_string(&w - big), w = ones({kSize}).set_requires_grad()});
  optim::SGD large(parameters);
  large.consume_gradients(true);
  Tensor total;
  for (Tensor& w : big) total = total ? total + sum(w) : sum(w);
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  total.backward();
  EXPECT_LT(memory_stats().peak - before, 2 * 4 * kSize);
}

TEST_F(Consume, ASecondBackwardInOneStepIsRefused) {
  loss(1, 1).backward();
  EXPECT_THAT(message_of([&] { loss(1, 1).backward(); }), HasSubstr("a second gradient of"));
  optimizer.zero_grad();  // ends the step, too
  EXPECT_NO_THROW(loss(1, 1).backward());
}

TEST_F(Consume, AGradientThatIsNotFiniteNamesWhatWasUpdatedBeforeIt) {
  const auto fail = [&] { loss(kNan, 1).backward(); };
  EXPECT_THROW(fail(), NonFiniteError);
  EXPECT_EQ(a.item(), 1);
  EXPECT_EQ(b.to_vector()[0], 0);
  optimizer.zero_grad();
  EXPECT_THAT(message_of(fail), HasSubstr("a: 0 inf, 1 NaN of 1"));
  optimizer.zero_grad();
  EXPECT_THAT(message_of(fail), HasSubstr("already updated in this step: b"));
}

TEST_F(Consume, AFirstGradientThatIsNotFiniteHasChangedNothing) {
  const auto fail = [&] { loss(1, kInf).backward(); };
  const std::string message = message_of(fail);
  EXPECT_THAT(message, HasSubstr("b: 1 inf, 0 NaN of 2"));
  EXPECT_THAT(message, HasSubstr("nothing was changed"));
  EXPECT_EQ(optimizer.steps(), 0);
  EXPECT_EQ(a.item(), 1);
  optimizer.zero_grad();
  loss(1, 1).backward();
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST_F(Consume, WhatNeedsAllGradientsIsRefused) {
  GradScaler scaler;
  EXPECT_THROW(scaler.unscale(optimizer), ValueError);
  EXPECT_THROW(scaler.step(optimizer), ValueError);
  EXPECT_THROW(optim::clip_grad_norm(optimizer, 1), ValueError);
  EXPECT_THROW(optimizer.step(0.5f), ValueError);
  EXPECT_THROW(optimizer.consume_gradients(true, -1), ValueError);
  optimizer.consume_gradients(false);
  EXPECT_NO_THROW(optim::clip_grad_norm(optimizer, 1));
  loss(1, 1).backward();
  EXPECT_EQ(a.item(), 1);
  EXPECT_TRUE(a.grad().defined());
}

TEST_F(Consume, AGradientMadeBeforeIsUsedByStep) {
  optimizer.consume_gradients(false);
  loss(1, 0.5).backward();
  optimizer.consume_gradients(true);
  optimizer.step();
  EXPECT_EQ(a.item(), 0);
  EXPECT_EQ(b.to_vector()[0], 0.5);
  EXPECT_FALSE(a.grad().defined());
}

TEST_F(Consume, ClipsByTheNormOfTheStepBeforeAndKeepsItAsState) {
  optimizer.consume_gradients(true, 2);
  EXPECT_EQ(optimizer.state().back().name, "previous_norm");
  loss(3, 4).backward();  // the first step is not clipped
  optimizer.step();
  EXPECT_EQ(optimizer.consumed_norm(), 5);
  EXPECT_EQ(optimizer.state().back().value.item(), 5);
  EXPECT_EQ(a.item(), 1 - 3);
  loss(1, 0).backward();  // 5 to 2: the factor is 0.4
  EXPECT_NEAR(a.item(), -2 - 0.4, 1e-6);
  optimizer.step();
  loss(1, 0).backward();  // a norm of 1 was within 2
  EXPECT_NEAR(a.item(), -2.4 - 1, 1e-6);
}

TEST_F(Consume, AnOptimizerThatIsGoneLeavesNoHook) {
  {
    optim::SGD other({{"a", a}}, {.lr = 1});
    other.consume_gradients(true);
  }
  loss(1, 0).backward();
  EXPECT_EQ(a.item(), 1);
  EXPECT_TRUE(a.grad().defined());
}

TEST_F(Consume, AParameterFrozenMeanwhileIsLeftOut) {
  optimizer.consume_gradients(false);
  b.set_requires_grad(false);
  optimizer.consume_gradients(true);
  loss_with_gradient(a, {1}).backward();
  optimizer.step();
  EXPECT_EQ(a.item(), 0);
  optimizer.consume_gradients(false);
  loss_with_gradient(a, {1}).backward();
  EXPECT_EQ(a.item(), 0);
}

TEST_F(Consume, ASuccessorKeepsItsHooksAndTheNarrowCopies) {
  Tensor w = ones({2, 2}).set_requires_grad();
  const auto use = [&] { autocast(bfloat16, [&] { return linear(ones({1, 2}), w); }); };
  auto first = std::make_unique<optim::SGD>(std::vector<Parameter>{{"w", w}}, optim::SGDOptions{.lr = 1});
  first->consume_gradients(true);
  optim::SGD second({{"w", w}}, {.lr = 1});
  second.consume_gradients(true);
  use();
  first.reset();
  use();
  EXPECT_EQ(w.storage()->casts.size(), 1u);  // stays after the region
  sum(w).backward();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(w.to_vector(), std::vector<double>(4, 0));
  EXPECT_EQ(second.steps(), 1);
}

TEST(ConsumingStep, IsRefusedWhereAllGradientsAreNeeded) {
  Tensor w = leaf({1});
  optim::SGD optimizer({{"w", w}}, {.lr = 1});
  const auto message = [&](const char* recipe, StepOptions options) {
    return message_of([&] { Step(optimizer, find_recipe(recipe), {}, options); });
  };
  EXPECT_THAT(message("float32", {.clip_norm = 1, .consume_gradients = true}),
              HasSubstr("the norm is known only when all gradients have been used"));
  EXPECT_THAT(message("float32", {.accumulation_steps = 2, .consume_gradients = true}),
              HasSubstr("2 micro-batches"));
  EXPECT_THAT(message("float32", {.clip_value = 1, .consume_gradients = true}), HasSubstr("clip_value"));
  EXPECT_THAT(message("float16", {.consume_gradients = true}), HasSubstr("could not be undone"));
  EXPECT_THAT(message("float32", {.clip_previous_norm = 1}), HasSubstr("without consume_gradients"));
  EXPECT_EQ(message("bfloat16", {.consume_gradients = true, .clip_previous_norm = 1}), "");
  EXPECT_THAT(message("bfloat16", {}), HasSubstr("an optimizer that consumes gradients"));
  EXPECT_TRUE(optimizer.consumes_gradients());
}

TEST(ConsumingStep, KeepsTheNormThatWasLoaded) {
  Tensor w = leaf({0});
  optim::SGD optimizer({{"w", w}}, {.lr = 1});
  optimizer.consume_gradients(true, 2);
  optimizer.load({{"previous_norm", full({}, 4)}}, 3);
  Step step(optimizer, find_recipe("float32"), {}, {.consume_gradients = true, .clip_previous_norm = 2});
  EXPECT_TRUE(step([&](int) { return sum(w); }).applied());
  EXPECT_EQ(w.item(), -0.5);  // 4 to 2
}

TEST(ConsumingStep, ANormBeyondFloat32ClipsTheNextStep) {
  Tensor w = zeros({4}).set_requires_grad();
  optim::SGD optimizer({{"w", w}}, {.lr = 0});
  Step step(optimizer, find_recipe("float32"), {}, {.consume_gradients = true, .clip_previous_norm = 1});
  EXPECT_NEAR(step([&](int) { return scale(sum(w), 3e38); }).gradient_norm / 6e38, 1, 1e-6);
  EXPECT_TRUE(step([&](int) { return scale(sum(w), 3e38); }).applied());
  EXPECT_EQ(w.to_vector(), std::vector<double>(4, 0));
}

TEST(ConsumingStep, ReportsWhatItDid) {
  Tensor w = leaf({1}), b = leaf({1});
  optim::SGD optimizer({{"w", w}, {"b", b}}, {.lr = 1});
  Step step(optimizer, find_recipe("float32"), {}, {.consume_gradients = true});
  const StepResult result = step([&](int) { return scale(sum(w), 3) + scale(sum(b), 4); });
  EXPECT_TRUE(result.applied());
  EXPECT_EQ(result.gradient_norm, 5);
  EXPECT_EQ(w.item(), -2);
  EXPECT_EQ(step([](int) { return ones({}); }).outcome, StepOutcome::nothing_to_do);
  EXPECT_EQ(step([&](int) { return loss_with_gradient(w, {kNan}); }).outcome, StepOutcome::loss_not_finite);
  EXPECT_THROW(step([&](int) { return poison(w); }), NonFiniteError);  // a finite loss, a gradient of NaN
  EXPECT_TRUE(step([&](int) { return sum(w); }).applied());            // and the next one is an ordinary step
  EXPECT_EQ(w.item(), -3);
}

}  // namespace
}  // namespace halftone::amp
