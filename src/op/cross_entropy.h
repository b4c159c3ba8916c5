// SPDX-License-Identifier: Apache-2.0
//
// What cross_entropy and linear_cross_entropy share: the terms of the loss, the arithmetic of a row of
// logits, and the gradient of the logits as a graph. The loss is the mean over counting rows of
//   l - sum_j q_j x_j + z l^2,  l = ln sum_j exp(x_j),
// with the target distribution q_j = (1 - e) [j = t] + e / classes (label smoothing e) and the z-loss z. In
// logits form, relative to the largest logit, so that no probability is ever rounded; dx_j = dy (softmax(x)_j
// (1 + 2 z l) - q_j) / rows. A row of -infinity alone has the loss infinity, as any masked target has, and
// zero gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "halftone/ops.h"
#include "op/softmax_rows.h"

namespace halftone {

struct CrossEntropyTerms {
  std::int32_t ignore_index;
  double share;  // 1 / number of rows that count, 0 if there are none
  double label_smoothing = 0, z_loss = 0;

  // Of the formulas below; `factor` is what the gradient is multiplied by besides dy.
  std::array<double, 4> parameters(double factor) const {
    return {static_cast<double>(ignore_index), label_smoothing, z_loss, factor};
  }
};

// Whether there is a target for each row of x (.., n). Throws DTypeError if they are not int32.
bool targets_fit(std::string_view op, const Tensor& x, const Tensor& targets);

// Of contiguous targets. Throws as cross_entropy does (ops.h), `op` being who asks.
CrossEntropyTerms cross_entropy_terms(std::string_view op, const Tensor& targets, std::int64_t classes,
                                      const CrossEntropyOptions& options);

// The gradient of the logits in ops: (softmax(x) (1 + 2 z l) - q) dy / rows, where the row counts and is not
// masked.
Tensor cross_entropy_gradient(const Tensor& logits, const Tensor& targets, const CrossEntropyTerms& terms,
                              const Tensor& dy);

// One row. Its operands are logits and target; its parameters are those of the terms.
template <class Real>
struct CrossEntropyRow {
  std::span<const Real> x;
  Real target;
  const Real* parameters;
  Real peak;

  [[gnu::always_inline]] explicit CrossEntropyRow(const Rows<Real>& r)
      : x(r.in[0]), target(r.in[1][0]), parameters(r.parameters), peak(counts() ? row_peak(x) : 0) {}

  [[gnu::always_inline]] bool counts() const { return target != parameters[0]; }
  [[gnu::always_inline]] bool masked() const { return peak == -std::numeric_limits<Real>::infinity(); }

  // sum_j exp(x_j - peak); the other one leaves the terms in dx.
  [[gnu::always_inline]] double total() const {
    const Real *logits = x.data(), most = peak;
    return row_sum<Real>(x.size(), [=](std::size_t j) { return math::exp(logits[j] - most); });
  }
  [[gnu::always_inline]] double total(Real* dx) const {
    const Real *logits = x.data(), most = peak;
    return row_sum<Real>(x.size(), [=](std::size_t j) { return dx[j] = math::exp(logits[j] - most); });
  }

  [[gnu::always_inline]] Real loss(double total) const {
    const double smoothing = double{parameters[1]}, log_total = std::log(total), l = log_total + double{peak};
    double loss = log_total - (1 - smoothing) * double{x[static_cast<std::size_t>(target)] - peak};
    if (smoothing > 0)
      loss -= smoothing / static_cast<double>(x.size()) *
              row_sum<Real>(x.size(), [&](std::size_t j) { return x[j] - peak; });
    return static_cast<Real>(loss + double{parameters[2]} * l * l);
  }

  // What total(dx) left in dx, made the gradient for dy.
  [[gnu::always_inline]] void gradient(double total, Real dy, Real* dx) const {
    const double smoothing = double{parameters[1]}, l = std::log(total) + double{peak};
    const auto factor = static_cast<Real>((1 + 2 * double{parameters[2]} * l) / total),
               every = static_cast<Real>(smoothing / static_cast<double>(x.size()));
    const auto t = static_cast<std::size_t>(target);
    const Real of_target = dy * (dx[t] * factor - every - static_cast<Real>(1 - smoothing));
    for (std::size_t j = 0; j < x.size(); ++j) dx[j] = dy * (dx[j] * factor - every);
    dx[t] = of_target;
  }
};

}  // namespace halftone
