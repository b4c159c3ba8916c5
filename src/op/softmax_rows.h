// SPDX-License-Identifier: Apache-2.0
//
// The row arithmetic of softmax, used by softmax and attention, and what all of its kind call masked:
//   y_i = exp(x_i - m) / sum_j exp(x_j - m),  m = max_j x_j;   dx = y (dy - <y, dy>).
// Subtracting the maximum keeps every exponent at or below zero. A row without a finite maximum (all keys
// masked by -infinity) gives zeros, and zero gradients, instead of NaN. Sums are carried in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/formula.h"

namespace halftone {

// Nothing is left of the row: every element is -infinity.
template <class Real>
bool all_masked(std::span<const Real> row) {
  return std::all_of(row.begin(), row.end(),
                     [](Real v) { return v == -std::numeric_limits<Real>::infinity(); });
}

// y = softmax(factor x) over the first `keys` elements; the rest gets zeros.
template <class Real>
void softmax_prefix(std::span<const Real> x, std::span<Real> y, Real factor, std::size_t keys) {
  Real peak = -std::numeric_limits<Real>::infinity();
  bool nan = false;
  for (std::size_t i = 0; i < keys; ++i) {
    peak = x[i] * factor > peak ? x[i] * factor : peak;
    nan |= std::isnan(x[i]);
  }
  double total = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool counts = i < keys && (nan || peak != -std::numeric_limits<Real>::infinity());
    y[i] = counts ? std::exp(x[i] * factor - peak) : Real(0);
    total += double{y[i]};
  }
  if (total == 0) return;
  for (std::size_t i = 0; i < keys; ++i) y[i] = static_cast<Real>(double{y[i]} / total);
}

// parameters: factor on x; 1 if causal; number of queries (row r is query r mod queries).
inline constexpr RowFormula kSoftmax = row_formula([]<class Real>(const Rows<Real>& r) {
  std::size_t keys = r.in[0].size();
  if (r.parameters[1] != 0) {
    const auto query = static_cast<std::size_t>(r.row % static_cast<std::int64_t>(r.parameters[2]));
    keys = std::min(query + 1, keys);
  }
  softmax_prefix(r.in[0], r.out[0], r.parameters[0], keys);
});

// in: y, dy; out: dx. parameters: factor.
inline constexpr RowFormula kSoftmaxGradient = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto y = r.in[0], dy = r.in[1];
  double dot = 0;
  for (std::size_t i = 0; i < y.size(); ++i) dot += double{y[i]} * double{dy[i]};
  for (std::size_t i = 0; i < y.size(); ++i)
    r.out[0][i] = y[i] * (dy[i] - static_cast<Real>(dot)) * r.parameters[0];
});

}  // namespace halftone
