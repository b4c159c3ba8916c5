// SPDX-License-Identifier: Apache-2.0
//
// Operands from the examples of an op, for the tests that go through all ops, and what a result may differ
// by.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "halftone/random.h"

namespace halftone {

inline Tensor example_input(const ExampleInput& spec, std::size_t index, DType dtype) {
  const Tensor values =
      random_uniform(spec.shape, spec.low, spec.high, 11 + index, streams::example, float64);
  if (spec.dtype.is_floating()) {
    Tensor x = cast(values, dtype);
    if (spec.differentiable) x.set_requires_grad();
    return x;
  }
  std::vector<double> whole = values.to_vector();
  for (double& v : whole) v = std::floor(v);
  return from_values(whole, spec.shape, spec.dtype);
}

inline std::vector<Tensor> example_inputs(const Example& example, DType dtype) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < example.inputs.size(); ++i)
    inputs.push_back(example_input(example.inputs[i], i, dtype));
  return inputs;
}

// A scalar whose gradient with respect to y is different everywhere.
inline Tensor weigh(const Tensor& y) {
  return sum(mul(y, random_uniform(y.shape(), 0.5, 1.5, 5, streams::example, y.dtype())));
}

// |a - b| <= tolerance * u * max|b|, u the roundoff of `dtype`; infinities and NaNs in the same places.
inline void expect_close(const Tensor& a, const Tensor& b, DType dtype, double tolerance) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  ASSERT_EQ(x.size(), y.size());
  double largest = 0;
  for (const double v : y)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  const double bound = tolerance * epsilon(dtype.format()) / 2 * largest + min_subnormal(dtype.format());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    EXPECT_TRUE(same || std::abs(x[i] - y[i]) <= bound)
        << "element " << i << ": " << x[i] << " instead of " << y[i];
  }
}

}  // namespace halftone
