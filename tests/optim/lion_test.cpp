// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "optim/follow.h"

namespace halftone::optim {
namespace {

TEST(Lion, FollowsAlgorithm2OfThePaper) {
  const LionOptions o{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1};
  const Tensor w = weights({3, 1001});
  Lion optimizer({{"w", w}}, o);
  Values m(3003);
  const auto formula = [&](int, const Values& g, Values& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double c = o.beta1 * m[i] + (1 - o.beta1) * g[i];
      x[i] -= o.lr * ((c > 0 ? 1 : -1) + o.weight_decay * x[i]);
      m[i] = o.beta2 * m[i] + (1 - o.beta2) * g[i];
    }
  };
  expect_follows(optimizer, formula, 1e-6);
}

// By hand, b1 = 0.5, b2 = 0.75, lr = 1: m after gradients 4, -1 is 1, then 0.5; the signs taken are of 2, 0,
// and, for a gradient of -1, of -0.25.
TEST(Lion, TakesTheSignBeforeItUpdatesTheMoment) {
  Tensor w = leaf({10});
  Lion optimizer({{"w", w}}, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75});
  const Tensor first = optimizer.state()[0].value;
  step_with(optimizer, w, {4});
  EXPECT_EQ(w.item(), 9);
  EXPECT_EQ(first.item(), 1);
  step_with(optimizer, w, {-1});
  EXPECT_EQ(w.item(), 9);  // the sign of zero is zero
  EXPECT_EQ(first.item(), 0.5);
  step_with(optimizer, w, {-1});
  EXPECT_EQ(w.item(), 10);
}

}  // namespace
}  // namespace halftone::optim
