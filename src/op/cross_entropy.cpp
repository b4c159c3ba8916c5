// SPDX-License-Identifier: Apache-2.0
//
// cross_entropy: the mean cross-entropy of rows of logits, as cross_entropy.h defines it.
#include "op/cross_entropy.h"

#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "op/differentiate.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

// in: logits, target; out: the row's loss.
constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const CrossEntropyRow<Real> row(r);
  r.out[0][0] = 0;
  if (!row.counts()) return;
  r.out[0][0] = row.masked() ? std::numeric_limits<Real>::infinity() : row.loss(row.total());
});

// in: logits, target, dy; out: dx.
constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  const CrossEntropyRow<Real> row(r);
  Real* dx = r.out[0].data();
  if (!row.counts() || row.masked()) {
    std::fill_n(dx, row.x.size(), Real(0));
    return;
  }
  row.gradient(row.total(dx), r.in[2][0] * r.parameters[3], dx);
});

Tensor column_of(const Tensor& targets) { return reshaped(targets, {targets.count(), 1}); }

const Op cross_entropy_op{
    .name = "cross_entropy",
    .cast = CastPolicy::float32,
    .operands = 1,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          const CrossEntropyTerms& terms = call.as<CrossEntropyTerms>();
          const Tensor logits = contiguous(call.backend, call.inputs[0]), &targets = call.inputs[1];
          const Tensor in[] = {matrix_of(logits), column_of(targets)};
          const Tensor losses({targets.count(), 1}, call.result);
          const auto parameters = terms.parameters(terms.share);
          call.backend.rowwise(kForward, in, std::span(&losses, 1), parameters);
          Tensor loss({}, call.result);
          call.backend.reduce(Reduction::sum, losses, loss.view({1, 1}, {1, 1}, 0), terms.share);
          return loss;
        },
    .backward =
        [](BackwardCall& call) {
          const CrossEntropyTerms& terms = call.as<CrossEntropyTerms>();
          const Tensor logits = contiguous(call.backend, call.inputs[0]), &targets = call.inputs[1];
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          const Tensor in[] = {matrix_of(logits), column_of(targets), reshaped(call.gradient, {1})};
          const Tensor out = matrix_of(dx);
          const auto parameters = terms.parameters(terms.share);
          call.backend.rowwise(kBackward, in, std::span(&out, 1), parameters);
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{6, 5}, -4, 4}, {{6}, 0, 5, int32, false}}, CrossEntropyTerms{-100, 1.0 / 6}},
              {{{{2, 3, 4}, -4, 4}, {{2, 3}, 0, 4, int32, false}}, CrossEntropyTerms{1, 0.25}},
              {{{{5, 70}, -4, 4}, {{5}, 0, 70, int32, false}}, CrossEntropyTerms{-100, 0.2, 0.1, 0.05}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{cross_entropy_gradient(call.inputs[0], call.inputs[1],
                                                    call.as<CrossEntropyTerms>(), call.gradient)};
        },
};
const Register registered(cross_entropy_op);

}  // namespace

bool targets_fit(std::string_view op, const Tensor& x, const Tensor& targets) {
  if (targets.dtype() != int32)
    throw DTypeError(std::string(op), fmt::format("{} targets", targets.dtype().name()),
                     "int32 class indices");
  bool fits = x.rank() == targets.rank() + 1;
  for (int axis = 0; fits && axis < targets.rank(); ++axis) fits = x.size(axis) == targets.size(axis);
  return fits;
}

CrossEntropyTerms cross_entropy_terms(std::string_view op, const Tensor& targets, std::int64_t classes,
                                      const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(op, fmt::format("label_smoothing {}", options.label_smoothing), "0 to 1");
  if (!(options.z_loss >= 0 && std::isfinite(options.z_loss)))
    throw ValueError(op, fmt::format("z_loss {}", options.z_loss), "a finite number, 0 or more");
  std::int64_t counting = 0;
  const auto* target = targets.data<std::int32_t>();
  for (std::int64_t i = 0; i < targets.count(); ++i) {
    if (target[i] == options.ignore_index) continue;
    if (target[i] < 0 || target[i] >= classes)
      throw ValueError(
          op, fmt::format("target {} at position {}", target[i], i),
          fmt::format("a class below {}, or {} to ignore the row", classes, options.ignore_index));
    ++counting;
  }
  return {options.ignore_index, counting == 0 ? 0 : 1.0 / static_cast<double>(counting),
          options.label_smoothing, options.z_loss};
}

Tensor cross_entropy_gradient(const Tensor& logits, const Tensor& targets, const CrossEntropyTerms& terms,
                              const Tensor& dy) {
  const std::int64_t classes = logits.size(-1);
  const double every = terms.label_smoothing / static_cast<double>(classes);
  std::vector<double> q(static_cast<std::size_t>(logits.count()), every);
  Tensor counts = not_masked(logits);
  const auto* target = targets.data<std::int32_t>();
  auto* row_counts = counts.mutable_data<std::uint8_t>();
  for (std::int64_t row = 0; row < targets.count(); ++row) {
    if (target[row] == terms.ignore_index)
      row_counts[row] = 0;
    else
      q[static_cast<std::size_t>(row * classes + target[row])] += 1 - terms.label_smoothing;
  }
  // What is infinite or NaN in a row that does not count is out of the way of derivatives of this, too.
  const Tensor x = select(logits, counts);
  Tensor p = softmax(x);
  if (terms.z_loss > 0) {
    const Tensor peak = row_peaks(x), l = log(sum(exp(x - peak), {-1}, true)) + peak;
    p = p * (constant(1, l) + scale(l, 2 * terms.z_loss));
  }
  return select((p - from_values(q, logits.shape(), logits.dtype())) * scale(dy, terms.share), counts);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, CrossEntropyOptions options) {
  if (!targets_fit("cross_entropy", logits, targets))
    throw ShapeError("cross_entropy",
                     "logits " + to_string(logits.shape()) + ", targets " + to_string(targets.shape()),
                     "logits (.., classes) and targets (..)");
  const Tensor read = contiguous(*thread_state().backend, targets);
  return apply(cross_entropy_op, {logits, read},
               cross_entropy_terms("cross_entropy", read, logits.size(-1), options));
}

}  // namespace halftone
