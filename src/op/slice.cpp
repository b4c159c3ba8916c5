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

// What slice does, the other way round: x put into zeros, for the second derivative.
struct Place {
  Range range;
  Shape shape;
};

const Op place_op{
    .name = "place",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward =
        [](Call& call) {
          const Place& to = call.as<Place>();
          Tensor y = zeros(to.shape, call.result);
          call.backend.copy(call.inputs[0], part(y, to.range));
          return y;
        },
    .backward =
        [](BackwardCall& call) { call.gradients.deliver(0, part(call.gradient, call.as<Place>().range)); },
    .examples = {},
    .differentiate =
        [](const DifferentiateCall& call) {
          const Range& range = call.as<Place>().range;
          return std::vector{slice(call.gradient, range.axis, range.begin, range.end)};
        },
};

const Op slice_op{
    .name = "slice",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward = [](Call& call) { return part(call.inputs[0], call.as<Range>()); },
    .backward =
        [](BackwardCall& call) {
          if (!call.gradients.wanted(0)) return;
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
    .differentiate =
        [](const DifferentiateCall& call) {
          const Place to{call.as<Range>(), call.shapes[0]};
          return std::vector{apply(place_op, {call.gradient}, to)};
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
