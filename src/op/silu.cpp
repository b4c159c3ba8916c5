// SPDX-License-Identifier: Apache-2.0
//
// silu (Hendrycks and Gimpel 2016; swish of Ramachandran, Zoph, Le 2017): y = x s(x), s the logistic
// function; dx = dy s (1 + x (1 - s)).
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

const Op silu_op = elementwise_op({
    .name = "silu",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return x * math::logistic(x); }),
    .gradients = {{formula<2>([](auto dy, auto x) {
                     const auto s = math::logistic(x);
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
