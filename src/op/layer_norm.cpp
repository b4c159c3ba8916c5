// SPDX-License-Identifier: Apache-2.0
//
// layer_norm (Ba, Kiros, Hinton 2016): h = (x - mean) / sqrt(variance + epsilon) along the last axis,
// y = w h + b.  dx = (g - mean(g) - h mean(g h)) / deviation with g = w dy;  dw = sum dy h, db = sum dy.
// Means are taken in double of exactly decoded values: 300^2 does not overflow here as it does in float16.
#include <cmath>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/norm_kernel.h"

namespace halftone {
namespace {

template <class Real>
struct Moments {
  Real mean, inverse_deviation;
};

template <class Real>
Moments<Real> moments(std::span<const Real> x, Real epsilon) {
  double sum = 0, squares = 0;
  for (const Real v : x) sum += double{v};
  const double mean = sum / static_cast<double>(x.size());
  for (const Real v : x) squares += (double{v} - mean) * (double{v} - mean);
  const double variance = squares / static_cast<double>(x.size());
  return {static_cast<Real>(mean), static_cast<Real>(1 / std::sqrt(variance + double{epsilon}))};
}

constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0], w = r.in[1], b = r.in[2];
  const auto [mean, inverse] = moments(x, r.parameters[0]);
  for (std::size_t i = 0; i < x.size(); ++i) r.out[0][i] = (x[i] - mean) * inverse * w[i] + b[i];
});

// in: x, w, dy; out: dx, dy h (whose column sums are dw).
constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0], w = r.in[1], dy = r.in[2];
  const auto [mean, inverse] = moments(x, r.parameters[0]);
  double sum = 0, sum_h = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real h = (x[i] - mean) * inverse;
    r.out[1][i] = dy[i] * h;
    sum += double{w[i] * dy[i]};
    sum_h += double{w[i] * r.out[1][i]};
  }
  const Real g = static_cast<Real>(sum / static_cast<double>(x.size()));
  const Real gh = static_cast<Real>(sum_h / static_cast<double>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    r.out[0][i] = (w[i] * dy[i] - g - (x[i] - mean) * inverse * gh) * inverse;
});

const Op layer_norm_op{
    .name = "layer_norm",
    .cast = CastPolicy::inside_float32,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          Tensor y(call.inputs[0].shape(), call.result);
          if (norm_forward(call, "layer_norm.forward", y)) return y;
          call.backend.rowwise(kForward, call.inputs, std::span(&y, 1), std::span(&call.as<double>(), 1));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          if (norm_backward(call, "layer_norm.backward")) return;
          const Tensor &x = call.inputs[0], &dy = call.gradient;
          const Tensor in[] = {x, call.inputs[1], dy};
          const bool wanted = call.gradients.wanted(0);
          const Tensor dx(x.shape(), wanted ? call.gradients.dtype(0) : float32);
          const Tensor out[] = {dx, Tensor(x.shape(), sum_dtype(x.dtype()))};
          call.backend.rowwise(kBackward, in, out, std::span(&call.as<double>(), 1));
          if (call.gradients.wanted(1)) deliver_reduced(call, 1, out[1]);
          if (call.gradients.wanted(2)) deliver_reduced(call, 2, dy);
          if (wanted) call.gradients.deliver(0, out[0]);
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -2, 2}, {{5}, 0.5, 1.5}, {{5}}}, 1e-5},
                                      {{{{2, 2, 130}}, {{130}}, {{130}}}, 1e-5}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor& dy = call.gradient;
          const Normalised n = normalised(call.inputs[0], {-1}, call.as<double>());
          return std::vector{normalised_gradient(n, dy * call.inputs[1], {-1}), dy * n.h, dy};
        },
};
const Register registered(layer_norm_op);

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  if (x.rank() < 1 || weight.shape() != Shape{x.size(-1)} || bias.shape() != weight.shape())
    throw ShapeError("layer_norm",
                     to_string(x.shape()) + " with weight " + to_string(weight.shape()) + " and bias " +
                         to_string(bias.shape()),
                     "weight and bias as long as the last axis");
  return apply(layer_norm_op, {x, weight, bias}, epsilon);
}

}  // namespace halftone
