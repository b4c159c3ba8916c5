// SPDX-License-Identifier: Apache-2.0
//
// reshape: the same elements in row-major order under another shape; a view where the strides allow it.
#include <fmt/format.h>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor row_major(const Backend& backend, const Tensor& x, const Shape& shape) {
  if (x.is_contiguous()) return x.view(shape, contiguous_strides(shape), x.offset());
  Tensor copy(x.shape(), x.dtype());
  backend.copy(x, copy);
  return copy.view(shape, contiguous_strides(shape), 0);
}

Shape resolve(const Shape& from, const Shape& to) {
  Shape shape = to;
  int unknown = -1;
  std::int64_t known = 1;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == -1 && unknown < 0)
      unknown = axis;
    else
      known *= to[axis];
  }
  if (unknown >= 0 && known > 0) shape[unknown] = from.count() / known;
  if (known < 0 || shape.count() != from.count())
    throw ShapeError("reshape", to_string(from) + " to " + to_string(to),
                     fmt::format("{} elements, at most one size -1", from.count()));
  return shape;
}

const Op reshape_op{
    .name = "reshape",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward =
        [](Call& call) {
          const Tensor& x = call.inputs[0];
          return row_major(call.backend, x, resolve(x.shape(), call.as<Shape>()));
        },
    .backward =
        [](BackwardCall& call) {
          call.gradients.deliver(0, row_major(call.backend, call.gradient, call.shapes[0]));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 4}}}, Shape{2, -1}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) { return std::vector{reshape(call.gradient, call.shapes[0])}; },
};
const Register registered(reshape_op);

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) { return apply(reshape_op, {x}, shape); }

Tensor flatten(const Tensor& x) {
  if (x.rank() < 1) throw ShapeError("flatten", "a scalar", "a batch axis");
  return reshape(x, {x.size(0), x.size(0) == 0 ? 0 : x.count() / x.size(0)});
}

}  // namespace halftone
