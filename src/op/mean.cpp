// SPDX-License-Identifier: Apache-2.0
//
// mean: the sum divided by the number of elements once, in float32 or better: a mean of float16 values can
// not overflow on the way.
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/axes.h"

namespace halftone {
namespace {

const Op mean_op{
    .name = "mean",
    .cast = CastPolicy::float32,
    .keeps = {},
    .forward = reduce_forward,
    .backward = reduce_backward,
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}}, ReduceOptions{{}, false, true}},
                                      {{{{2, 3, 4}}}, ReduceOptions{{0, 2}, false, true}},
                                      {{{{2, 700}}}, ReduceOptions{{-1}, true, true}}};
        },
    .differentiate = reduce_differentiate,
};
const Register registered(mean_op);

}  // namespace

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return apply(mean_op, {x}, ReduceOptions{axes, keep_axes, true});
}

}  // namespace halftone
