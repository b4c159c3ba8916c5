// SPDX-License-Identifier: Apache-2.0
//
// gelu in the form of GPT-2 (Hendrycks and Gimpel 2016): y = x s, s = (1 + tanh u) / 2 = 1 / (1 + e^-2u),
// u = c (x + a x^3), c = sqrt(2 / pi), a = 0.044715;  dx = dy (s + 2 x s (1 - s) c (1 + 3 a x^2)).
#include <numbers>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

constexpr double kSlope = 0.7978845608028654, kCubic = 0.044715;

// From here on s is 0 or 1, and in double x^2 is finite. Below -kBound the exponential of a float is
// infinite.
template <class Real>
constexpr Real kBound = sizeof(Real) == sizeof(float) ? 10.04 : 30;

// x between the bounds
template <class Real>
Real limited(Real x) {
  constexpr Real bound = kBound<Real>;
  return x > bound ? bound : x < -bound ? -bound : x;
}

// e^-2u of a limited x
template <class Real>
Real exponential(Real x) {
  constexpr double scale = -2 * kSlope * std::numbers::log2e;
  return math::short_exp2(x * (Real(scale) + Real(scale * kCubic) * (x * x)));
}

const Op gelu_tanh_op = elementwise_op({
    .name = "gelu_tanh",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return x / (1 + exponential(limited(x))); }),
    .gradients = {{formula<2>([](auto dy, auto x) {
                     using Real = decltype(x);
                     const Real z = limited(x), s = 1 / (1 + exponential(z));
                     const Real du = z * (Real(2 * kSlope) + Real(6 * kSlope * kCubic) * (z * z));
                     return dy * (s * (1 + (1 - s) * du));
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
