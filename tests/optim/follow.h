// SPDX-License-Identifier: Apache-2.0
//
// An optimizer beside a formula in double, written for the test from the paper.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "amp/support.h"
#include "halftone/optim.h"

namespace halftone {

using amp::Optimizer;
using Values = std::vector<double>;

// Five steps of random gradients, read as twice what they are. `formula` changes the weights by the gradient
// g of step t = 1, 2, ...
inline void expect_follows(Optimizer& optimizer,
                           const std::function<void(int t, const Values& g, Values& w)>& formula,
                           double tolerance) {
  const Tensor w = optimizer.parameters()[0].value;
  Values expected = w.to_vector();
  for (int t = 1; t <= 5; ++t) {
    const Tensor gradient = random_normal(w.shape(), 2, static_cast<std::uint64_t>(t));
    optimizer.zero_grad();
    sum(mul(w, gradient)).backward();
    optimizer.step(2);
    Values g = gradient.to_vector();
    for (double& x : g) x *= 2;
    formula(t, g, expected);
    const Values actual = w.to_vector();
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], tolerance * t) << "step " << t << " element " << i;
  }
  EXPECT_EQ(optimizer.steps(), 5);
}

inline double norm(const Values& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

inline Tensor weights(const Shape& shape) { return random_normal(shape, 1, 1).set_requires_grad(); }

// One optimizer step of given gradients.
inline void step_with(Optimizer& optimizer, const Tensor& w, std::vector<double> gradient) {
  optimizer.zero_grad();
  loss_with_gradient(w, std::move(gradient)).backward();
  optimizer.step();
}

}  // namespace halftone
