// SPDX-License-Identifier: Apache-2.0
//
// sum: accumulated in float32 or better, whatever the format: 1000 ones in bfloat16 give 1000, not 256.
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/axes.h"

namespace halftone {
namespace {

const Op sum_op{
    .name = "sum",
    .cast = CastPolicy::float32,
    .keeps = {},
    .forward = reduce_forward,
    .backward = reduce_backward,
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}}, ReduceOptions{{}, false, false}},
                                      {{{{2, 3, 4}}}, ReduceOptions{{0, 2}, false, false}},
                                      {{{{2, 700}}}, ReduceOptions{{-1}, true, false}}};
        },
    .differentiate = reduce_differentiate,
};
const Register registered(sum_op);

}  // namespace

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return apply(sum_op, {x}, ReduceOptions{axes, keep_axes, false});
}

}  // namespace halftone
