// SPDX-License-Identifier: Apache-2.0
//
// gelu in the form of GPT-2 (Hendrycks and Gimpel 2016): y = x s, s = (1 + tanh u) / 2 = 1 / (1 + e^-2u),
// u = c (x + a x^3), c = sqrt(2 / pi), a = 0.044715;  dx = dy (s + 2 x s (1 - s) c (1 + 3 a x^2)).
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

constexpr double kSlope = 0.7978845608028654, kCubic = 0.044715;

template <class Real>
Real share(Real x) {
  return math::logistic(Real(2 * kSlope) * (x + Real(kCubic) * x * x * x));
}

const Op gelu_tanh_op = elementwise_op({
    .name = "gelu_tanh",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return x * share(x); }),
    .gradients = {{formula<2>([](auto dy, auto x) {
                     using Real = decltype(x);
                     const Real s = share(x), bound = 30;  // s is 0 or 1 from here on, and x^2 stays finite
                     const Real z = x > bound ? bound : x < -bound ? -bound : x;
                     return dy * (s + z * s * (1 - s) * Real(2 * kSlope) * (1 + Real(3 * kCubic) * z * z));
                   }),
                   {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -4, 4}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &x = call.inputs[0], one = constant(1, x);
          const Tensor s = sigmoid(scale(x + scale(x * x * x, kCubic), 2 * kSlope));
          return std::vector{call.gradient *
                             (s + x * s * (one - s) * scale(one + scale(x * x, 3 * kCubic), 2 * kSlope))};
        },
});
const Register registered(gelu_tanh_op);

}  // namespace

Tensor gelu_tanh(const Tensor& x) { return apply(gelu_tanh_op, {x}); }

}  // namespace halftone
