// SPDX-License-Identifier: Apache-2.0
//
// silu (Hendrycks and Gimpel 2016; swish of Ramachandran, Zoph, Le 2017): y = x s(x), s the logistic
// function; dx = dy s (1 + x (1 - s)).
#include <cmath>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

template <class Real>
Real logistic(Real x) {
  return 1 / (1 + std::exp(-x));
}

const Op silu_op = elementwise_op({
    .name = "silu",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return x * logistic(x); }),
    .gradients = {{formula<2>([](auto dy, auto x) {
                     const auto s = logistic(x);
                     return dy * s * (1 + x * (1 - s));
                   }),
                   {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -4, 4}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor& x = call.inputs[0];
          const Tensor s = sigmoid(x), one = constant(1, x);
          return std::vector{call.gradient * s * (one + x * (one - s))};
        },
});
const Register registered(silu_op);

}  // namespace

Tensor silu(const Tensor& x) { return apply(silu_op, {x}); }

}  // namespace halftone
