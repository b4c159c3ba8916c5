// SPDX-License-Identifier: Apache-2.0
//
// sub: y = a - b; da = dy, db = -dy.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op sub_op = elementwise_op({
    .name = "sub",
    .cast = CastPolicy::widest,
    .forward = formula<2>([](auto a, auto b) { return a - b; }),
    .gradients = {{.operands = {Operand::dy}}, {formula<1>([](auto dy) { return -dy; }), {Operand::dy}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{3, 5}}}}, {{{{7}}, {{2, 7}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{call.gradient, scale(call.gradient, -1)};
        },
});
const Register registered(sub_op);

}  // namespace

Tensor sub(const Tensor& a, const Tensor& b) { return apply(sub_op, {a, b}); }

}  // namespace halftone
