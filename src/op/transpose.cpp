// SPDX-License-Identifier: Apache-2.0
//
// transpose: two axes change places; a view.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

struct Axes {
  int first, second;
};

Tensor swapped(const Tensor& x, const Axes& axes) {
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape[axes.first], shape[axes.second]);
  std::swap(strides[axes.first], strides[axes.second]);
  return x.view(shape, strides, x.offset());
}

const Op transpose_op{
    .name = "transpose",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward = [](Call& call) { return swapped(call.inputs[0], call.as<Axes>()); },
    .backward =
        [](BackwardCall& call) { call.gradients.deliver(0, swapped(call.gradient, call.as<Axes>())); },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 4}}}, Axes{0, 1}}, {{{{2, 3, 4}}}, Axes{0, 2}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Axes& axes = call.as<Axes>();
          return std::vector{transpose(call.gradient, axes.first, axes.second)};
        },
};
const Register registered(transpose_op);

}  // namespace

Tensor transpose(const Tensor& x, int axis0, int axis1) {
  for (const int axis : {axis0, axis1})
    if (axis < -x.rank() || axis >= x.rank())
      throw ShapeError("transpose", fmt::format("axis {} of {}", axis, to_string(x.shape())),
                       "an axis of the tensor");
  return apply(transpose_op, {x}, Axes{axis0, axis1});
}

}  // namespace halftone
