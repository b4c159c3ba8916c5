// SPDX-License-Identifier: Apache-2.0
//
// slice: the elements [begin, end) along one axis; a view. The gradient is zero elsewhere.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

struct Range {
  int axis;
  std::int64_t begin, end;
};

Tensor part(const Tensor& x, const Range& range) {
  Shape shape = x.shape();
  shape[range.axis] = range.end - range.begin;
  return x.view(shape, x.strides(), x.offset() + range.begin * x.strides()[range.axis]);
}

constexpr Formula kAdd = formula<2>([](auto x, auto y) { return x + y; });

const Op slice_op{
    .name = "slice",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward = [](Call& call) { return part(call.inputs[0], call.as<Range>()); },
    .backward =
        [](BackwardCall& call) {
          if (const Tensor sum = call.gradients.accumulator(0)) {
            const Tensor target = part(sum, call.as<Range>());
            const Tensor operands[] = {target, call.gradient};
            call.backend.elementwise(kAdd, operands, target);
            return;
          }
          Tensor dx = zeros(call.shapes[0], call.gradients.dtype(0));
          call.backend.copy(call.gradient, part(dx, call.as<Range>()));
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 6}}}, Range{1, 2, 5}}, {{{{4, 2}}}, Range{0, 1, 2}}};
        },
};
const Register registered(slice_op);

}  // namespace

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  if (axis < -x.rank() || axis >= x.rank())
    throw ShapeError("slice", fmt::format("axis {} of {}", axis, to_string(x.shape())),
                     "an axis of the tensor");
  if (begin < 0 || end < begin || end > x.size(axis))
    throw ShapeError("slice", fmt::format("[{}, {}) of {}", begin, end, x.size(axis)),
                     "0 <= begin <= end <= size");
  return apply(slice_op, {x}, Range{axis, begin, end});
}

}  // namespace halftone
