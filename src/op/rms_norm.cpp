// SPDX-License-Identifier: Apache-2.0
//
// rms_norm (Zhang and Sennrich 2019): h = x / sqrt(mean(x^2) + epsilon) along the last axis, y = w h.
// dx = (g - h mean(g h)) / rms with g = w dy;  dw = sum dy h. Means are taken in double.
#include <cmath>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/norm_kernel.h"

namespace halftone {
namespace {

template <class Real>
Real inverse_rms(std::span<const Real> x, Real epsilon) {
  double squares = 0;
  for (const Real v : x) squares += double{v} * double{v};
  return static_cast<Real>(1 / std::sqrt(squares / static_cast<double>(x.size()) + double{epsilon}));
}

constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0], w = r.in[1];
  const Real inverse = inverse_rms(x, r.parameters[0]);
  for (std::size_t i = 0; i < x.size(); ++i) r.out[0][i] = x[i] * inverse * w[i];
});

// in: x, w, dy; out: dx, dy h (whose column sums are dw).
constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0], w = r.in[1], dy = r.in[2];
  const Real inverse = inverse_rms(x, r.parameters[0]);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    r.out[1][i] = dy[i] * (x[i] * inverse);
    sum += double{w[i] * r.out[1][i]};
  }
  const Real gh = static_cast<Real>(sum / static_cast<double>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) r.out[0][i] = (w[i] * dy[i] - x[i] * inverse * gh) * inverse;
});

const Op rms_norm_op{
    .name = "rms_norm",
    .cast = CastPolicy::inside_float32,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          Tensor y(call.inputs[0].shape(), call.result);
          if (norm_forward(call, "rms_norm.forward", y)) return y;
          call.backend.rowwise(kForward, call.inputs, std::span(&y, 1), std::span(&call.as<double>(), 1));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          if (norm_backward(call, "rms_norm.backward")) return;
          const Tensor& x = call.inputs[0];
          const Tensor in[] = {x, call.inputs[1], call.gradient};
          const bool wanted = call.gradients.wanted(0);
          const Tensor dx(x.shape(), wanted ? call.gradients.dtype(0) : float32);
          const Tensor out[] = {dx, Tensor(x.shape(), sum_dtype(x.dtype()))};
          call.backend.rowwise(kBackward, in, out, std::span(&call.as<double>(), 1));
          if (call.gradients.wanted(1)) deliver_reduced(call, 1, out[1]);
          if (wanted) call.gradients.deliver(0, out[0]);
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -2, 2}, {{5}, 0.5, 1.5}}, 1e-5},
                                      {{{{2, 2, 130}}, {{130}}}, 1e-5}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &x = call.inputs[0], &dy = call.gradient;
          const Tensor variance = mean(x * x, {-1}, true) + constant(call.as<double>(), x);
          const Tensor inverse = exp(scale(log(variance), -0.5)), h = x * inverse, g = dy * call.inputs[1];
          return std::vector{(g - h * mean(g * h, {-1}, true)) * inverse, dy * h};
        },
};
const Register registered(rms_norm_op);

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  if (x.rank() < 1 || weight.shape() != Shape{x.size(-1)})
    throw ShapeError("rms_norm", to_string(x.shape()) + " with weight " + to_string(weight.shape()),
                     "a weight as long as the last axis");
  return apply(rms_norm_op, {x, weight}, epsilon);
}

}  // namespace halftone
