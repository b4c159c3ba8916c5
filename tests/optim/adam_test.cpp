// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "halftone/ops.h"
#include "optim/follow.h"

namespace halftone::optim {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

TEST(AdamW, FollowsAlgorithm2OfThePaper) {
  const AdamWOptions o{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1};
  const Tensor w = weights({3, 1001});
  AdamW optimizer({{"w", w}}, o);
  Values m(3003), v(3003);
  const auto formula = [&](int t, const Values& g, Values& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(o.beta1, t)), v_hat = v[i] / (1 - std::pow(o.beta2, t));
      x[i] -= o.lr * (m_hat / (std::sqrt(v_hat) + o.epsilon) + o.weight_decay * x[i]);
    }
  };
  expect_follows(optimizer, formula, 2e-6);
}

TEST(Adam, FollowsAlgorithm1OfThePaperWithDecayInTheGradient) {
  const AdamOptions o{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1};
  const Tensor w = weights({3, 1001});
  Adam optimizer({{"w", w}}, o);
  Values m(3003), v(3003);
  const auto formula = [&](int t, const Values& gradient, Values& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = gradient[i] + o.weight_decay * x[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(o.beta1, t)), v_hat = v[i] / (1 - std::pow(o.beta2, t));
      x[i] -= o.lr * m_hat / (std::sqrt(v_hat) + o.epsilon);
    }
  };
  expect_follows(optimizer, formula, 2e-6);
}

// By hand: b1 = 0.5, b2 = 0.75, lr = 1, gradients 1 and -3 at w = 4.
//   t = 1: m = 0.5, v = 0.25; both corrected to 1; w = 4 - 1 = 3.
//   t = 2: m = 0.25 - 1.5 = -1.25, corrected / 0.75 = -5/3; v = 0.1875 + 2.25 = 2.4375, corrected / 0.4375 =
//          39/7; w = 3 + (5/3) / sqrt(39/7) = 3.7060988.
TEST(Adam, HasTheValuesComputedByHand) {
  Tensor w = leaf({4}), decoupled = leaf({4});
  Adam optimizer({{"w", w}}, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75});
  AdamW other({{"w", decoupled}}, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.25});
  step_with(optimizer, w, {1});
  EXPECT_NEAR(w.item(), 3, 1e-6);
  step_with(optimizer, w, {-3});
  EXPECT_NEAR(w.item(), 3.7060988, 1e-6);
  step_with(other, decoupled, {1});
  EXPECT_NEAR(decoupled.item(), 2, 1e-6);  // 4 - 0.25 * 4 - 1
}

// By hand, as above: at t = 2 a first gradient of 1 makes m = 0.5 / 0.75 and v = 0.25 / 0.4375.
TEST(Adam, CorrectsALateFirstGradientByTheStepsOfTheOptimizer) {
  Tensor early = leaf({0}), late = leaf({0});
  Adam optimizer({{"early", early}, {"late", late}}, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75});
  step_with(optimizer, early, {1});
  EXPECT_EQ(late.item(), 0);
  step_with(optimizer, late, {1});
  EXPECT_NEAR(late.item(), -0.8819171, 1e-6);
}

TEST(AdamW, FirstStepMovesByTheLearningRateWhateverTheGradient) {
  Tensor w = leaf({1, 1, 1});
  AdamW optimizer({{"w", w}}, {.lr = 1e-3, .weight_decay = 0});
  step_with(optimizer, w, {1e-4, -1, 1e6});
  EXPECT_THAT(w.to_vector(), Pointwise(DoubleNear(1e-6), {0.999, 1.001, 0.999}));
}

TEST(AdamW, MovesAMasterBelowTheSpacingOfTheParameter) {  // fault D18
  Tensor w = leaf({1}, bfloat16);
  AdamW optimizer({{"w", w}}, {.lr = 1e-3, .weight_decay = 0});
  loss_with_gradient(w, {1}).backward();
  for (int i = 0; i < 100; ++i) optimizer.step();
  EXPECT_NEAR(optimizer.state()[0].value.item(), 0.9, 1e-4);
  EXPECT_NEAR(w.item(), 0.9, 0.002);
}

TEST(AdamW, DecayActsOnEveryParameterWithoutTheGradient) {
  Tensor vector = leaf({2}), matrix = full({1, 1}, 2).set_requires_grad();
  AdamW optimizer({{"b", vector}, {"w", matrix}}, {.lr = 0.1, .weight_decay = 0.5});
  sum(vector * 0.0).backward();
  sum(matrix * 0.0).backward();
  optimizer.step();
  EXPECT_FLOAT_EQ(static_cast<float>(vector.item()), 1.9f);
  EXPECT_FLOAT_EQ(static_cast<float>(matrix.item()), 1.9f);
}

// Fault D20: a coefficient of 0.999 in bfloat16 is 1, and so is a moment rounded to nearest.
double second_after_1000_steps(DType state) {
  constexpr std::int64_t kCount = 20000;
  const Tensor w = ones({kCount}).set_requires_grad();
  AdamW optimizer({{"w", w}}, {.beta2 = 0.999, .state = state});
  Tensor second = optimizer.state()[1].value;
  EXPECT_EQ(second.dtype(), state);
  encode_row(state, std::vector<float>(kCount, 1).data(), second.raw_mutable(), kCount);
  sum(scale(w, 0)).backward();
  for (int i = 0; i < 1000; ++i) optimizer.step();
  double sum = 0;
  for (const double v : second.to_vector()) sum += v;
  return sum / kCount;
}

TEST(AdamW, TheSecondMomentDecays) { EXPECT_NEAR(second_after_1000_steps(float32), 0.3677, 1e-4); }

TEST(AdamW, TheSecondMomentInBfloat16DecaysOnAverage) {
  // A step off 0.3677 of one element is about 2^-9 of it, 1000 of them at random: a spread of 0.04.
  EXPECT_NEAR(second_after_1000_steps(bfloat16), 0.3677, 5 * 0.04 / std::sqrt(20000));
}

TEST(AdamW, OptionsOutOfRangeAreNamed) {
  const std::vector<Parameter> p{{"w", leaf({1})}};
  EXPECT_THROW(AdamW(p, {.lr = kInf}), ValueError);
  EXPECT_THROW(AdamW(p, {.beta1 = 1}), ValueError);
  EXPECT_THROW(AdamW(p, {.beta2 = -0.1}), ValueError);
  EXPECT_THROW(AdamW(p, {.epsilon = 0}), ValueError);
  EXPECT_THROW(AdamW(p, {.weight_decay = kNan}), ValueError);
  EXPECT_THAT(message_of([&] { AdamW(p, {.beta2 = 1}); }), ::testing::HasSubstr("[AdamW] beta2 = 1"));
}

TEST(AdamW, AGradientWhoseSquareLeavesTheFormatOfTheStateDoesNotFreezeTheWeight) {
  for (const DType state : {float32, bfloat16, float16}) {
    Tensor w = full({1}, 1).set_requires_grad();
    AdamW optimizer({{"w", w}}, {.lr = 0.1, .beta2 = 0.9, .weight_decay = 0, .state = state});
    step_with(optimizer, w, {1e25});
    EXPECT_TRUE(std::isfinite(w.item())) << state.name();
    for (const Parameter& moment : optimizer.state())
      EXPECT_TRUE(std::isfinite(moment.value.item())) << moment.name << ' ' << state.name();
    for (int i = 0; i < 2000; ++i) step_with(optimizer, w, {0});  // 0.9^2000 takes 3e38 to 1e-53
    const double before = w.item();
    step_with(optimizer, w, {-1});
    EXPECT_GT(w.item(), before + 0.01) << state.name();
  }
}

}  // namespace
}  // namespace halftone::optim
