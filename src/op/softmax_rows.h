// SPDX-License-Identifier: Apache-2.0
//
// The row arithmetic of softmax and what all of its kind call masked:
//   y_i = exp(x_i - m) / sum_j exp(x_j - m),  m = max_j x_j;   dx = y (dy - <y, dy>).
// Subtracting the maximum keeps every exponent at or below zero. A row without a finite maximum (all keys
// masked by -infinity) gives zeros, and zero gradients, instead of NaN. Sums are carried in double
// across runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "halftone/formula.h"

namespace halftone {

// Lanes combined by halves, a fixed order.
template <class Real, std::size_t kLanes, class Combine>
[[gnu::always_inline]] inline Real folded(Real (&lanes)[kLanes], const Combine& combine) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  return lanes[0];
}

// term(i) for i in [0, count), added up in lanes over runs of kRun, and the runs in double. A fixed order
// that a compiler can turn into vectors of any width.
template <class Real, class Term>
[[gnu::always_inline]] inline double row_sum(std::size_t count, const Term& term) {
  constexpr std::size_t kLanes = 32, kRun = 4096;
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::size_t end = std::min(count, begin + kRun);
    Real lanes[kLanes] = {};
    std::size_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
    for (std::size_t l = 0; i + l < end; ++l) lanes[l] += term(i + l);
    total += double{folded(lanes, std::plus<Real>())};
  }
  return total;
}

// The largest x_i; NaN if one of them is.
template <class Real>
[[gnu::always_inline]] inline Real row_peak(std::span<const Real> x) {
  constexpr std::size_t kLanes = 32;
  constexpr Real kLeast = -std::numeric_limits<Real>::infinity();
  Real lanes[kLanes];
  for (Real& lane : lanes) lane = kLeast;
  const auto larger = [](Real a, Real b) { return a > b || a != a ? a : b; };
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], x[i + l]);
  for (std::size_t l = 0; i + l < x.size(); ++l) lanes[l] = larger(lanes[l], x[i + l]);
  return folded(lanes, larger);
}

// Nothing is left of the row: every element is -infinity.
template <class Real>
[[gnu::always_inline]] inline bool all_masked(std::span<const Real> row) {
  return row_peak(row) == -std::numeric_limits<Real>::infinity();
}

// y = softmax(x) over the first `keys` elements; the rest gets zeros.
template <class Real>
void softmax_prefix(std::span<const Real> x, std::span<Real> y, std::size_t keys) {
  const Real peak = row_peak(x.first(keys));
  const bool masked = peak == -std::numeric_limits<Real>::infinity();
  if (masked) keys = 0;
  Real* to = y.data();
  const Real* from = x.data();
  const double total = row_sum<Real>(keys, [=](std::size_t i) { return to[i] = math::exp(from[i] - peak); });
  const auto inverse = static_cast<Real>(1 / total);
  for (std::size_t i = 0; i < keys; ++i) to[i] *= inverse;
  for (std::size_t i = keys; i < y.size(); ++i) to[i] = 0;
}

// parameters: 1 if causal; number of queries (row r is query r mod queries).
inline constexpr RowFormula kSoftmax = row_formula([]<class Real>(const Rows<Real>& r) {
  std::size_t keys = r.in[0].size();
  if (r.parameters[0] != 0) {
    const auto query = static_cast<std::size_t>(r.row % static_cast<std::int64_t>(r.parameters[1]));
    keys = std::min(query + 1, keys);
  }
  softmax_prefix(r.in[0], r.out[0], keys);
});

// in: y, dy; out: dx.
inline constexpr RowFormula kSoftmaxGradient = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto y = r.in[0], dy = r.in[1];
  const auto dot = static_cast<Real>(row_sum<Real>(y.size(), [&](std::size_t i) { return y[i] * dy[i]; }));
  for (std::size_t i = 0; i < y.size(); ++i) r.out[0][i] = y[i] * (dy[i] - dot);
});

}  // namespace halftone
