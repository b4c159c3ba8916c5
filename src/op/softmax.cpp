// SPDX-License-Identifier: Apache-2.0
//
// softmax along the last axis, optionally with a causal mask (op/softmax_rows.h has the formulas). Autocast
// runs it in float32: in float16, adding up 4096 terms of 1/4096 ends at one half.
#include "op/softmax_rows.h"

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op softmax_op{
    .name = "softmax",
    .cast = CastPolicy::float32,
    .keeps = {Operand::y},
    .forward =
        [](Call& call) {
          const Tensor& x = call.inputs[0];
          Tensor y(x.shape(), call.result);
          const double parameters[] = {call.as<bool>() ? 1.0 : 0.0,
                                       x.rank() > 1 ? static_cast<double>(x.size(-2)) : 1.0};
          call.backend.rowwise(kSoftmax, std::span(&x, 1), std::span(&y, 1), parameters);
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor in[] = {call.output, call.gradient};
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          call.backend.rowwise(kSoftmaxGradient, in, std::span(&dx, 1));
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 5}, -4, 4}}, false}, {{{{1, 600}}}, false}, {{{{2, 3, 3}}}, true}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &y = call.output, &dy = call.gradient;
          return std::vector{y * (dy - sum(y * dy, {-1}, true))};
        },
};
const Register registered(softmax_op);

}  // namespace

Tensor softmax(const Tensor& x, bool causal) {
  if (x.rank() < (causal ? 2 : 1))
    throw ShapeError("softmax", "shape " + to_string(x.shape()),
                     causal ? "(.., queries, keys)" : "at least one axis");
  return apply(softmax_op, {x}, causal);
}

}  // namespace halftone
