// SPDX-License-Identifier: Apache-2.0
//
// gelu: y = x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016);
// dx = dy (Phi(x) + x phi(x)).
#include <numbers>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor density(const Tensor& x) {
  return scale(exp(scale(x * x, -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

// Phi as an op, for the second derivative.
const Op cumulative_op = elementwise_op({
    .name = "normal_distribution",
    .cast = CastPolicy::keep,
    .forward = formula<1>([](auto x) { return math::normal(x).distribution; }),
    .gradients = {{formula<2>([](auto dy, auto x) { return dy * math::normal(x).density; }),
                   {Operand::dy, Operand::x0}}},
    .examples = {},
    .differentiate =
        [](const DifferentiateCall& call) { return std::vector{call.gradient * density(call.inputs[0])}; },
});

const Op gelu_op = elementwise_op({
    .name = "gelu",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return x * math::normal(x).distribution; }),
    .gradients = {{formula<2>([](auto dy, auto x) {
                     const auto normal = math::normal(x);
                     return dy * (normal.distribution + x * normal.density);
                   }),
                   {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -4, 4}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor& x = call.inputs[0];
          return std::vector{call.gradient * (apply(cumulative_op, {x}) + x * density(x))};
        },
});
const Register registered(gelu_op);

}  // namespace

Tensor gelu(const Tensor& x) { return apply(gelu_op, {x}); }

}  // namespace halftone
