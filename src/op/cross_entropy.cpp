// SPDX-License-Identifier: Apache-2.0
//
// cross_entropy: the mean over counting rows of  l - sum_j q_j x_j + z l^2,  l = ln sum_j exp(x_j), with the
// target distribution q_j = (1 - e) [j = t] + e / classes (label smoothing e) and the z-loss z. In logits
// form, relative to the largest logit, so that no probability is ever rounded; dx_j = dy (softmax(x)_j (1 + 2
// z l) - q_j) / rows. A row of -infinity alone has the loss infinity, as any masked target has, and zero
// gradients.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/softmax_rows.h"

namespace halftone {
namespace {

struct Options {
  std::int32_t ignore_index;
  double share;  // 1 / number of rows that count, 0 if there are none
  double label_smoothing = 0, z_loss = 0;

  std::array<double, 4> parameters() const {
    return {static_cast<double>(ignore_index), label_smoothing, z_loss, share};
  }
};

template <class Real>
[[gnu::always_inline]] inline double exp_sum(std::span<const Real> x, Real peak) {
  return row_sum<Real>(x.size(), [&](std::size_t j) { return math::exp(x[j] - peak); });
}

// in: logits, target; out: the row's loss. parameters: ignore index, label smoothing, z-loss.
constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0];
  const Real target = r.in[1][0];
  r.out[0][0] = 0;
  if (target == r.parameters[0]) return;
  const Real peak = row_peak(x);
  if (peak == -std::numeric_limits<Real>::infinity()) {
    r.out[0][0] = std::numeric_limits<Real>::infinity();
    return;
  }
  const double smoothing = double{r.parameters[1]}, log_total = std::log(exp_sum(x, peak)),
               l = log_total + double{peak};
  double loss = log_total - (1 - smoothing) * double{x[static_cast<std::size_t>(target)] - peak};
  if (smoothing > 0)
    loss -= smoothing / static_cast<double>(x.size()) *
            row_sum<Real>(x.size(), [&](std::size_t j) { return x[j] - peak; });
  r.out[0][0] = static_cast<Real>(loss + double{r.parameters[2]} * l * l);
});

// in: logits, target, dy; out: dx. parameters: ignore index, label smoothing, z-loss, share.
constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0];
  Real* dx = r.out[0].data();
  const Real target = r.in[1][0], dy = r.in[2][0] * r.parameters[3], peak = row_peak(x);
  if (target == r.parameters[0] || peak == -std::numeric_limits<Real>::infinity()) {
    std::fill_n(dx, x.size(), Real(0));
    return;
  }
  const double smoothing = double{r.parameters[1]};
  const Real* logits = x.data();
  const double total =
      row_sum<Real>(x.size(), [=](std::size_t j) { return dx[j] = math::exp(logits[j] - peak); });
  const double l = std::log(total) + double{peak};
  const auto factor = static_cast<Real>((1 + 2 * double{r.parameters[2]} * l) / total),
             every = static_cast<Real>(smoothing / static_cast<double>(x.size()));
  const auto t = static_cast<std::size_t>(target);
  const Real of_target = dy * (dx[t] * factor - every - static_cast<Real>(1 - smoothing));
  for (std::size_t j = 0; j < x.size(); ++j) dx[j] = dy * (dx[j] * factor - every);
  dx[t] = of_target;
});

Tensor rows_of(const Tensor& x, std::int64_t width) {
  return x.view({width == 0 ? 0 : x.count() / width, width}, {width, 1}, x.offset());
}

// (softmax(x) (1 + 2 z l) - q) dy / rows, where the row counts.
std::vector<Tensor> differentiate(const DifferentiateCall& call) {
  const Options& options = call.as<Options>();
  const Tensor &logits = call.inputs[0], &targets = call.inputs[1];
  const std::int64_t classes = logits.size(-1);
  const double every = options.label_smoothing / static_cast<double>(classes);
  std::vector<double> q(static_cast<std::size_t>(logits.count()), every);
  Tensor counts = zeros(logits.shape(), uint8);
  const auto* target = targets.data<std::int32_t>();
  auto* row_counts = counts.mutable_data<std::uint8_t>();
  for (std::int64_t row = 0; row < targets.count(); ++row) {
    if (target[row] == options.ignore_index) continue;
    q[static_cast<std::size_t>(row * classes + target[row])] += 1 - options.label_smoothing;
    std::fill_n(row_counts + row * classes, classes, std::uint8_t{1});
  }
  Tensor p = softmax(logits);
  if (options.z_loss > 0) {
    const Tensor l = mean(logits - log_softmax(logits), {-1}, true);
    p = p * (constant(1, l) + scale(l, 2 * options.z_loss));
  }
  return {select((p - from_values(q, logits.shape(), logits.dtype())) * scale(call.gradient, options.share),
                 counts)};
}

const Op cross_entropy_op{
    .name = "cross_entropy",
    .cast = CastPolicy::float32,
    .operands = 1,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          const Options& options = call.as<Options>();
          const Tensor &logits = call.inputs[0], &targets = call.inputs[1];
          const Tensor in[] = {rows_of(logits, logits.size(-1)), rows_of(targets, 1)};
          const Tensor losses({targets.count(), 1}, call.result);
          const auto parameters = options.parameters();
          call.backend.rowwise(kForward, in, std::span(&losses, 1), parameters);
          Tensor loss({}, call.result);
          call.backend.reduce(Reduction::sum, losses, loss.view({1, 1}, {1, 1}, 0), options.share);
          return loss;
        },
    .backward =
        [](BackwardCall& call) {
          const Options& options = call.as<Options>();
          const Tensor &logits = call.inputs[0], &targets = call.inputs[1];
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          const Tensor in[] = {rows_of(logits, logits.size(-1)), rows_of(targets, 1),
                               call.gradient.view({1}, {1}, call.gradient.offset())};
          const Tensor out = rows_of(dx, dx.size(-1));
          const auto parameters = options.parameters();
          call.backend.rowwise(kBackward, in, std::span(&out, 1), parameters);
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{6, 5}, -4, 4}, {{6}, 0, 5, int32, false}}, Options{-100, 1.0 / 6}},
              {{{{2, 3, 4}, -4, 4}, {{2, 3}, 0, 4, int32, false}}, Options{1, 0.25}},
              {{{{5, 70}, -4, 4}, {{5}, 0, 70, int32, false}}, Options{-100, 0.2, 0.1, 0.05}}};
        },
    .differentiate = differentiate,
};
const Register registered(cross_entropy_op);

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, CrossEntropyOptions options) {
  const std::int32_t ignore_index = options.ignore_index;
  if (targets.dtype() != int32)
    throw DTypeError("cross_entropy", fmt::format("{} targets", targets.dtype().name()),
                     "int32 class indices");
  bool fits = logits.rank() == targets.rank() + 1 && logits.is_contiguous() && targets.is_contiguous();
  for (int axis = 0; fits && axis < targets.rank(); ++axis) fits = logits.size(axis) == targets.size(axis);
  if (!fits)
    throw ShapeError("cross_entropy",
                     "logits " + to_string(logits.shape()) + ", targets " + to_string(targets.shape()),
                     "contiguous logits (.., classes) and targets (..)");
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError("cross_entropy", fmt::format("label_smoothing {}", options.label_smoothing), "0 to 1");
  if (!(options.z_loss >= 0 && std::isfinite(options.z_loss)))
    throw ValueError("cross_entropy", fmt::format("z_loss {}", options.z_loss), "a finite number, 0 or more");
  std::int64_t counting = 0;
  const auto* target = targets.data<std::int32_t>();
  for (std::int64_t i = 0; i < targets.count(); ++i) {
    if (target[i] == ignore_index) continue;
    if (target[i] < 0 || target[i] >= logits.size(-1))
      throw ValueError(
          "cross_entropy", fmt::format("target {} at position {}", target[i], i),
          fmt::format("a class below {}, or {} to ignore the row", logits.size(-1), ignore_index));
    ++counting;
  }
  return apply(cross_entropy_op, {logits, targets},
               Options{ignore_index, counting == 0 ? 0 : 1.0 / static_cast<double>(counting),
                       options.label_smoothing, options.z_loss});
}

}  // namespace halftone
