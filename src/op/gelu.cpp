// SPDX-License-Identifier: Apache-2.0
//
// gelu: y = x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016);
// dx = dy (Phi(x) + x phi(x)).
#include <cmath>
#include <numbers>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

template <class Real>
Real phi_cumulative(Real x) {
  return Real(0.5) * std::erfc(-x * Real(1 / std::numbers::sqrt2));
}

const Op gelu_op = elementwise_op({
    .name = "gelu",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return x * phi_cumulative(x); }),
    .gradients = {{formula<2>([](auto dy, auto x) {
                     using Real = decltype(x);
                     const Real density =
                         std::exp(-x * x / 2) * Real(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
                     return dy * (phi_cumulative(x) + x * density);
                   }),
                   {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -4, 4}}}};
        },
});
const Register registered(gelu_op);

}  // namespace

Tensor gelu(const Tensor& x) { return apply(gelu_op, {x}); }

}  // namespace halftone
