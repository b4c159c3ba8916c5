// SPDX-License-Identifier: Apache-2.0
//
// reshape: the same elements in row-major order under another shape; a view of a contiguous tensor, a copy of
// any other.
#include <fmt/format.h>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

Tensor row_major(const Backend& backend, const Tensor& x, const Shape& shape) {
  return reshaped(contiguous(backend, x), shape);
}

Shape resolve(const Shape& from, const Shape& to) {
  Shape shape = to;
  int unknown = -1;
  bool negative = false;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == -1 && unknown < 0) {
      unknown = axis;
      shape[axis] = 1;
    } else {
      negative |= to[axis] < 0;
    }
  }
  const auto given = [&] { return to_string(from) + " to " + to_string(to); };
  if (unknown >= 0 && !negative) {
    const std::int64_t known = shape.count();
    if (known == 0)
      throw ShapeError("reshape", given(), "no size -1 beside a 0: any would do", "the size itself");
    shape[unknown] = from.count() / known;
  }
  if (negative || shape.count() != from.count())
    throw ShapeError("reshape", given(),
                     fmt::format("{} elements, no negative size but one -1", from.count()));
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
  std::int64_t rest = 1;  // by multiplication, which an empty batch does not stop
  for (int axis = 1; axis < x.rank(); ++axis) rest *= x.size(axis);
  return reshape(x, {x.size(0), rest});
}

}  // namespace halftone
