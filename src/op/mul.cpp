// SPDX-License-Identifier: Apache-2.0
//
// mul: y = a b; da = dy b, db = dy a.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

constexpr Formula kProduct = formula<2>([](auto a, auto b) { return a * b; });

const Op mul_op = elementwise_op({
    .name = "mul",
    .cast = CastPolicy::widest,
    .forward = kProduct,
    .gradients = {{kProduct, {Operand::dy, Operand::x1}}, {kProduct, {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{3, 5}}}}, {{{{2, 3, 4}}, {{3, 1}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{call.gradient * call.inputs[1], call.gradient * call.inputs[0]};
        },
});
const Register registered(mul_op);

}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) { return apply(mul_op, {a, b}); }

}  // namespace halftone
