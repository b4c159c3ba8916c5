// SPDX-License-Identifier: Apache-2.0
#include "op/axes.h"

#include <fmt/format.h>

#include <utility>

#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

struct Plan {
  Shape kept;    // reduced axes have size 1
  Shape result;  // what the caller sees
  double scale;
};

Plan plan(const Shape& shape, const ReduceOptions& options) {
  bool reduced[kMaxRank] = {};
  for (const int axis : options.axes) {
    if (axis < -shape.rank() || axis >= shape.rank())
      throw ShapeError(options.divide ? "mean" : "sum", fmt::format("axis {} of {}", axis, to_string(shape)),
                       "an axis of the tensor");
    reduced[axis < 0 ? axis + shape.rank() : axis] = true;
  }
  Plan p{shape, {}, 1};
  std::vector<std::int64_t> remaining;
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (options.axes.empty() || reduced[axis]) {
      count *= shape[axis];
      p.kept[axis] = 1;
    } else {
      remaining.push_back(shape[axis]);
    }
  }
  p.result = options.keep_axes ? p.kept : Shape(std::span<const std::int64_t>(remaining));
  if (options.divide) p.scale = 1.0 / static_cast<double>(count);
  return p;
}

constexpr Formula kTimes = formula<1>([](auto x, const auto* p) { return x * p[0]; });

}  // namespace

Tensor reduce_forward(Call& call) {
  const Plan p = plan(call.inputs[0].shape(), call.as<ReduceOptions>());
  Tensor y(p.result, call.result);
  call.backend.reduce(Reduction::sum, call.inputs[0], y.view(p.kept, contiguous_strides(p.kept), 0), p.scale);
  return y;
}

void reduce_backward(BackwardCall& call) {
  const Plan p = plan(call.shapes[0], call.as<ReduceOptions>());
  const Tensor spread[] = {reshaped(contiguous(call.backend, call.gradient), p.kept)};
  Tensor dx(call.shapes[0], call.gradients.dtype(0));
  const double scale[] = {p.scale};
  call.backend.elementwise(kTimes, spread, dx, scale);
  call.gradients.deliver(0, std::move(dx));
}

std::vector<Tensor> reduce_differentiate(const DifferentiateCall& call) {
  const Plan p = plan(call.shapes[0], call.as<ReduceOptions>());
  const Tensor dx = spread(reshape(call.gradient, p.kept), call.shapes[0]);
  return {p.scale == 1 ? dx : scale(dx, p.scale)};
}

}  // namespace halftone
