// SPDX-License-Identifier: Apache-2.0
//
// exp: y = e^x; dx = dy y. float16 overflows from x = 11.09 on, so autocast leaves the result in float32.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op exp_op = elementwise_op({
    .name = "exp",
    .cast = CastPolicy::float32,
    .forward = formula<1>([](auto x) { return math::exp(x); }),
    .gradients = {{formula<2>([](auto dy, auto y) { return dy * y; }), {Operand::dy, Operand::y}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -3, 3}}}};
        },
    .differentiate = [](const DifferentiateCall& call) { return std::vector{call.gradient * call.output}; },
});
const Register registered(exp_op);

}  // namespace

Tensor exp(const Tensor& x) { return apply(exp_op, {x}); }

}  // namespace halftone
