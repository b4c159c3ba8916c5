// SPDX-License-Identifier: Apache-2.0
//
// sigmoid: y = 1 / (1 + e^-x); dx = dy y (1 - y).
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

const Op sigmoid_op = elementwise_op({
    .name = "sigmoid",
    .cast = CastPolicy::inside_float32,
    .forward = formula<1>([](auto x) { return math::logistic(x); }),
    .gradients = {{formula<2>([](auto dy, auto y) { return dy * y * (1 - y); }), {Operand::dy, Operand::y}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -4, 4}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor& y = call.output;
          return std::vector{call.gradient * y * (constant(1, y) - y)};
        },
});
const Register registered(sigmoid_op);

}  // namespace

Tensor sigmoid(const Tensor& x) { return apply(sigmoid_op, {x}); }

}  // namespace halftone
