// SPDX-License-Identifier: Apache-2.0
//
// add: y = a + b; da = dy, db = dy.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op add_op = elementwise_op({
    .name = "add",
    .cast = CastPolicy::widest,
    .forward = formula<2>([](auto a, auto b) { return a + b; }),
    .gradients = {{.operands = {Operand::dy}}, {.operands = {Operand::dy}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{3, 5}}}}, {{{{4, 1, 3}}, {{2, 1}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{call.gradient, call.gradient};
        },
});
const Register registered(add_op);

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return apply(add_op, {a, b}); }

}  // namespace halftone
