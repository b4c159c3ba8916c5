// SPDX-License-Identifier: Apache-2.0
//
// concat: tensors one after the other along an axis; the gradient of each is its part. float16 with bfloat16
// gives float32, which holds both. stack is the same along a new axis.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

// The elements of x from `begin` on, as many along the axis as `shape` has.
Tensor part(const Tensor& x, int axis, std::int64_t begin, const Shape& shape) {
  return x.view(shape, x.strides(), x.offset() + begin * x.strides()[axis]);
}

const Op concat_op{
    .name = "concat",
    .cast = CastPolicy::widest,
    .keeps = {},
    .forward =
        [](Call& call) {
          const int axis = call.as<int>();
          Shape shape = call.inputs[0].shape();
          for (const Tensor& x : call.inputs.subspan(1)) shape[axis] += x.size(axis);
          Tensor y(shape, call.result);
          std::int64_t begin = 0;
          for (const Tensor& x : call.inputs) {
            call.backend.copy(x, part(y, axis, begin, x.shape()));
            begin += x.size(axis);
          }
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const int axis = call.as<int>();
          std::int64_t begin = 0;
          for (std::size_t i = 0; i < call.shapes.size(); ++i) {
            const Shape& shape = call.shapes[i];
            if (call.gradients.wanted(static_cast<int>(i)))
              call.gradients.deliver(static_cast<int>(i), part(call.gradient, axis, begin, shape));
            begin += shape[axis];
          }
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{2, 3}}, {{4, 3}}}, 0},
                                      {{{{2, 1, 3}}, {{2, 5, 3}}, {{2, 2, 3}}}, 1}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const int axis = call.as<int>();
          std::vector<Tensor> gradients;
          std::int64_t begin = 0;
          for (const Shape& shape : call.shapes) {
            gradients.push_back(slice(call.gradient, axis, begin, begin + shape[axis]));
            begin += shape[axis];
          }
          return gradients;
        },
};
const Register registered(concat_op);

bool fits(const Tensor& a, const Tensor& b, int axis) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (i != axis && a.size(i) != b.size(i)) return false;
  return true;
}

// `op` is who asks.
Tensor joined(std::string_view op, const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw ValueError(op, "no tensors", "at least one");
  const Tensor& first = tensors[0];
  if (axis < -first.rank() || axis >= first.rank())
    throw ShapeError(op, fmt::format("axis {} of {}", axis, to_string(first.shape())),
                     "an axis of the tensors");
  if (axis < 0) axis += first.rank();
  for (const Tensor& x : tensors)
    if (!fits(first, x, axis))
      throw ShapeError(op, to_string(first.shape()) + " and " + to_string(x.shape()),
                       fmt::format("shapes that differ along axis {} at most", axis));
  std::vector<Tensor> pieces = tensors;
  while (pieces.size() > kMaxOperands) {  // an op takes so many: join them, then join the joined
    std::vector<Tensor> longer;
    for (std::size_t i = 0; i < pieces.size(); i += kMaxOperands)
      longer.push_back(
          apply(concat_op,
                std::span(pieces).subspan(i, std::min<std::size_t>(kMaxOperands, pieces.size() - i)), axis));
    pieces = std::move(longer);
  }
  return apply(concat_op, pieces, axis);
}

}  // namespace

Tensor concat(const std::vector<Tensor>& tensors, int axis) { return joined("concat", tensors, axis); }

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  std::vector<Tensor> pieces;
  for (const Tensor& x : tensors) {
    if (axis < -x.rank() - 1 || axis > x.rank())
      throw ShapeError("stack", fmt::format("axis {} of {}", axis, to_string(x.shape())),
                       "a place for a new axis");
    std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
    sizes.insert(sizes.begin() + (axis < 0 ? axis + x.rank() + 1 : axis), 1);
    pieces.push_back(reshape(x, Shape(std::span<const std::int64_t>(sizes))));
  }
  return joined("stack", pieces, axis);
}

}  // namespace halftone
