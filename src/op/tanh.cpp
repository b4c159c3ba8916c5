// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y^2).
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

const Op tanh_op = elementwise_op({
    .name = "tanh",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return math::tanh(x); }),
    .gradients = {{formula<2>([](auto dy, auto y) { return dy * (1 - y * y); }), {Operand::dy, Operand::y}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -3, 3}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor& y = call.output;
          return std::vector{call.gradient * (constant(1, y) - y * y)};
        },
});
const Register registered(tanh_op);

}  // namespace

Tensor tanh(const Tensor& x) { return apply(tanh_op, {x}); }

}  // namespace halftone
