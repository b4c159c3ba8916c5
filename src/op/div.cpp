// SPDX-License-Identifier: Apache-2.0
//
// div: y = a / b; da = dy / b, db = -dy y / b.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

constexpr Formula kQuotient = formula<2>([](auto a, auto b) { return a / b; });

const Op div_op = elementwise_op({
    .name = "div",
    .cast = CastPolicy::widest,
    .forward = kQuotient,
    .gradients = {{kQuotient, {Operand::dy, Operand::x1}},
                  {formula<3>([](auto dy, auto a, auto b) { return -dy * (a / b) / b; }),
                   {Operand::dy, Operand::x0, Operand::x1}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{3, 5}, 1, 2}}}, {{{{4, 3}}, {{3}, -2, -1}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &a = call.inputs[0], &b = call.inputs[1], &dy = call.gradient;
          return std::vector{dy / b, scale(dy * (a / b) / b, -1)};
        },
});
const Register registered(div_op);

}  // namespace

Tensor div(const Tensor& a, const Tensor& b) { return apply(div_op, {a, b}); }

}  // namespace halftone
