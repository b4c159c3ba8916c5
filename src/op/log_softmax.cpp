// SPDX-License-Identifier: Apache-2.0
//
// log_softmax: y_i = x_i - m - ln sum_j exp(x_j - m), m = max_j x_j;  dx_i = dy_i - exp(y_i) sum_j dy_j.
// A row of -infinity alone (all keys masked) stays what it is, the logarithm of the zeros that softmax gives,
// and has zero gradients.
#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/softmax_rows.h"

namespace halftone {
namespace {

constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0];
  const Real peak = row_peak(x);
  if (peak == -std::numeric_limits<Real>::infinity()) {
    std::copy(x.begin(), x.end(), r.out[0].begin());
    return;
  }
  const double total = row_sum<Real>(x.size(), [&](std::size_t i) { return math::exp(x[i] - peak); });
  const auto shift = static_cast<Real>(std::log(total));
  for (std::size_t i = 0; i < x.size(); ++i) r.out[0][i] = x[i] - peak - shift;
});

constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto y = r.in[0], dy = r.in[1];
  if (all_masked(y)) {
    std::fill(r.out[0].begin(), r.out[0].end(), Real(0));
    return;
  }
  const double total = row_sum<Real>(dy.size(), [&](std::size_t i) { return dy[i]; });
  for (std::size_t i = 0; i < y.size(); ++i) r.out[0][i] = dy[i] - math::exp(y[i]) * static_cast<Real>(total);
});

const Op log_softmax_op{
    .name = "log_softmax",
    .cast = CastPolicy::float32,
    .keeps = {Operand::y},
    .forward =
        [](Call& call) {
          Tensor y(call.inputs[0].shape(), call.result);
          call.backend.rowwise(kForward, call.inputs, std::span(&y, 1));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor in[] = {call.output, call.gradient};
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          call.backend.rowwise(kBackward, in, std::span(&dx, 1));
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{2, 5}, -4, 4}}}, {{{{1, 600}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &y = call.output, &dy = call.gradient;
          return std::vector{select(dy - exp(y) * sum(dy, {-1}, true), not_masked(y))};
        },
};
const Register registered(log_softmax_op);

}  // namespace

Tensor log_softmax(const Tensor& x) {
  if (x.rank() < 1 || x.size(-1) == 0)
    throw ShapeError("log_softmax", "shape " + to_string(x.shape()), "rows of at least one element");
  return apply(log_softmax_op, {x});
}

}  // namespace halftone
