// SPDX-License-Identifier: Apache-2.0
//
// log: y = ln x; dx = dy / x.
#include <cmath>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op log_op = elementwise_op({
    .name = "log",
    .cast = CastPolicy::float32,
    .forward = formula<1>([](auto x) { return std::log(x); }),
    .gradients = {{formula<2>([](auto dy, auto x) { return dy / x; }), {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, 0.25, 4}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) { return std::vector{call.gradient / call.inputs[0]}; },
});
const Register registered(log_op);

}  // namespace

Tensor log(const Tensor& x) { return apply(log_op, {x}); }

}  // namespace halftone
