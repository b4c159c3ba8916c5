// SPDX-License-Identifier: Apache-2.0
//
// cross_entropy: the mean over counting rows of  ln sum_j exp(x_j - m) - (x_t - m),  m = max_j x_j, in logits
// form so that no probability is ever rounded;  dx_j = dy (softmax(x)_j - [j = t]) / rows. A row of -infinity
// alone has the loss infinity, as any masked target has, and zero gradients.
#include <fmt/format.h>

#include <algorithm>
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
};

template <class Real>
double exp_sum(std::span<const Real> x, Real peak) {
  double total = 0;
  for (const Real v : x) total += double{std::exp(v - peak)};
  return total;
}

// in: logits, target; out: the row's loss. parameters: ignore index.
constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0];
  const Real target = r.in[1][0];
  r.out[0][0] = 0;
  if (target == r.parameters[0]) return;
  if (all_masked(x)) {
    r.out[0][0] = std::numeric_limits<Real>::infinity();
    return;
  }
  const Real peak = *std::max_element(x.begin(), x.end());
  r.out[0][0] =
      static_cast<Real>(std::log(exp_sum(x, peak)) - double{x[static_cast<std::size_t>(target)] - peak});
});

// in: logits, target, dy; out: dx. parameters: ignore index, share.
constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0];
  const auto dx = r.out[0];
  const Real target = r.in[1][0], dy = r.in[2][0] * r.parameters[1];
  if (target == r.parameters[0] || all_masked(x)) {
    std::fill(dx.begin(), dx.end(), Real(0));
    return;
  }
  const Real peak = *std::max_element(x.begin(), x.end());
  const auto inverse = static_cast<Real>(1 / exp_sum(x, peak));
  for (std::size_t j = 0; j < x.size(); ++j)
    dx[j] = dy * (std::exp(x[j] - peak) * inverse - (static_cast<Real>(j) == target ? Real(1) : Real(0)));
});

Tensor rows_of(const Tensor& x, std::int64_t width) {
  return x.view({width == 0 ? 0 : x.count() / width, width}, {width, 1}, x.offset());
}

// (softmax(x) - [j = t]) dy / rows, where the row counts.
std::vector<Tensor> differentiate(const DifferentiateCall& call) {
  const auto& [ignore_index, share] = call.as<Options>();
  const Tensor &logits = call.inputs[0], &targets = call.inputs[1];
  Tensor hot = zeros(logits.shape(), uint8), counts = zeros(logits.shape(), uint8);
  const std::int64_t classes = logits.size(-1);
  const auto* target = targets.data<std::int32_t>();
  auto* is_target = hot.mutable_data<std::uint8_t>();
  auto* row_counts = counts.mutable_data<std::uint8_t>();
  for (std::int64_t row = 0; row < targets.count(); ++row) {
    if (target[row] == ignore_index) continue;
    is_target[row * classes + target[row]] = 1;
    std::fill_n(row_counts + row * classes, classes, std::uint8_t{1});
  }
  return {select((softmax(logits) - hot) * scale(call.gradient, share), counts)};
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
          const double parameters[] = {static_cast<double>(options.ignore_index)};
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
          const double parameters[] = {static_cast<double>(options.ignore_index), options.share};
          call.backend.rowwise(kBackward, in, std::span(&out, 1), parameters);
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{6, 5}, -4, 4}, {{6}, 0, 5, int32, false}}, Options{-100, 1.0 / 6}},
                                      {{{{2, 3, 4}, -4, 4}, {{2, 3}, 0, 4, int32, false}}, Options{1, 0.25}}};
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
               Options{ignore_index, counting == 0 ? 0 : 1.0 / static_cast<double>(counting)});
}

}  // namespace halftone
