// SPDX-License-Identifier: Apache-2.0
//
// cast: the same values rounded once into the format asked for, whatever autocast says; dx = dy.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op cast_op{
    .name = "cast",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward =
        [](Call& call) {
          const Tensor& x = call.inputs[0];
          Tensor y(x.shape(), call.as<DType>());
          call.backend.copy(x, y);
          return y;
        },
    .backward = [](BackwardCall& call) { call.gradients.deliver(0, call.gradient); },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 4}}}, float32}};
        },
    .differentiate = [](const DifferentiateCall& call) { return std::vector{call.gradient}; },
};
const Register registered(cast_op);

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (dtype.is_floating()) return apply(cast_op, {x}, dtype);
  return no_grad([&] { return apply(cast_op, {x}, dtype); });
}

}  // namespace halftone
