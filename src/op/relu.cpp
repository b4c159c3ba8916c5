// SPDX-License-Identifier: Apache-2.0
//
// relu: y = max(x, 0), NaN stays NaN; dx = dy where y > 0, else 0. Exact in every format.
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

constexpr Formula kPositive = formula<1>([](auto y) { return y > 0 ? decltype(y)(1) : decltype(y)(0); });

const Op relu_op = elementwise_op({
    .name = "relu",
    .cast = CastPolicy::keep,
    .forward = formula<1>([](auto x) { return x < 0 ? decltype(x)(0) : x; }),
    .gradients = {{formula<2>([](auto dy, auto y) { return y > 0 ? dy : decltype(dy)(0); }),
                   {Operand::dy, Operand::y}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}}}, {{{{2, 700}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor positive(call.output.shape(), uint8);
          thread_state().backend->elementwise(kPositive, std::span(&call.output, 1), positive);
          return std::vector{select(call.gradient, positive)};
        },
});
const Register registered(relu_op);

}  // namespace

Tensor relu(const Tensor& x) { return apply(relu_op, {x}); }

}  // namespace halftone
