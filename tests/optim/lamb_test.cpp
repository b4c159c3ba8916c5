// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "optim/follow.h"

namespace halftone::optim {
namespace {

TEST(Lamb, FollowsAlgorithm2OfThePaper) {
  const LambOptions o{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1};
  const Tensor w = weights({7, 3001});
  Lamb optimizer({{"w", w}}, o);
  const std::size_t count = 7 * 3001;
  Values m(count), v(count), u(count);
  const auto formula = [&](int t, const Values& g, Values& x) {
    for (std::size_t i = 0; i < count; ++i) {
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
      const double r =
          m[i] / (1 - std::pow(o.beta1, t)) / (std::sqrt(v[i] / (1 - std::pow(o.beta2, t))) + o.epsilon);
      u[i] = r + o.weight_decay * x[i];
    }
    const double ratio = norm(x) / norm(u);
    for (std::size_t i = 0; i < count; ++i) x[i] -= o.lr * ratio * u[i];
  };
  expect_follows(optimizer, formula, 2e-6);
}

// By hand, first step without decay: r is the sign of the gradient, its length sqrt(2), that of w = (3, 4) is
// 5; lr = 0.1 moves each element by 0.1 * 5 / sqrt(2) = 0.35355339.
TEST(Lamb, MovesByALengthInProportionToTheParameter) {
  Tensor w = leaf({3, 4});
  Lamb optimizer({{"w", w}}, {.lr = 0.1, .weight_decay = 0});
  step_with(optimizer, w, {1e3, -1e2});
  EXPECT_NEAR(w.to_vector()[0], 3 - 0.35355339, 1e-6);
  EXPECT_NEAR(w.to_vector()[1], 4 + 0.35355339, 1e-6);
}

TEST(Lamb, AParameterOfZerosMovesByTheLearningRate) {
  Tensor w = leaf({0, 0});
  Lamb optimizer({{"w", w}}, {.lr = 0.1});
  step_with(optimizer, w, {1, 0});
  EXPECT_NEAR(w.to_vector()[0], -0.1, 1e-6);
  EXPECT_EQ(w.to_vector()[1], 0);
}

TEST(Lamb, NormsBeyondFloat32AreRight) {  // a square of 1e25 is not a float32
  Tensor w = leaf({1e25, 1e25});
  Lamb optimizer({{"w", w}}, {.lr = 0.1, .weight_decay = 0});
  step_with(optimizer, w, {1, 1});
  EXPECT_NEAR(w.to_vector()[0] / 1e25, 0.9, 1e-6);
}

}  // namespace
}  // namespace halftone::optim
