// SPDX-License-Identifier: Apache-2.0
//
// scale: y = c x for a number c; dx = c dy. The result keeps the format of x.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

constexpr Formula kTimes = formula<1>([](auto x, const auto* p) { return x * p[0]; });

const Op scale_op = elementwise_op({
    .name = "scale",
    .cast = CastPolicy::keep,
    .forward = kTimes,
    .gradients = {{kTimes, {Operand::dy}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}}, Scalars{-2.5}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{scale(call.gradient, call.as<Scalars>()[0])};
        },
});
const Register registered(scale_op);

}  // namespace

Tensor scale(const Tensor& x, double factor) { return apply(scale_op, {x}, Scalars{factor}); }

}  // namespace halftone
