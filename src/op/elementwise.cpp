// SPDX-License-Identifier: Apache-2.0
//
// Ops of the elementwise loop: forward is one formula over broadcast operands, the gradient of each input
// another, summed over the axes along which that input was broadcast.
#include <algorithm>
#include <utility>

#include "halftone/op.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

std::span<const double> scalars(const std::any& options) {
  const auto* values = std::any_cast<Scalars>(&options);
  return values ? std::span<const double>(*values) : std::span<const double>();
}

const Tensor& operand(const BackwardCall& call, Operand which) {
  switch (which) {
    case Operand::y:
      return call.output;
    case Operand::dy:
      return call.gradient;
    default:
      return call.inputs[static_cast<std::size_t>(which)];
  }
}

void deliver_gradient(BackwardCall& call, int input, const Gradient& gradient) {
  if (gradient.formula.float64 == nullptr) return deliver_reduced(call, input, call.gradient);
  std::vector<Tensor> operands;
  for (const Operand which : gradient.operands) operands.push_back(operand(call, which));
  const Shape& shape = call.gradient.shape();
  const DType dtype = call.gradients.dtype(input);
  Tensor dx(shape, call.shapes[static_cast<std::size_t>(input)] == shape ? dtype : sum_dtype(dtype));
  call.backend.elementwise(gradient.formula, operands, dx, scalars(call.options));
  deliver_reduced(call, input, std::move(dx));
}

}  // namespace

void deliver_reduced(BackwardCall& call, int input, Tensor gradient) {
  const Shape& shape = call.shapes[static_cast<std::size_t>(input)];
  if (gradient.shape() == shape) return call.gradients.deliver(input, std::move(gradient));
  Shape padded = gradient.shape();
  const int lead = padded.rank() - shape.rank();
  for (int axis = 0; axis < padded.rank(); ++axis) padded[axis] = axis < lead ? 1 : shape[axis - lead];
  const Tensor sum(padded, call.gradients.dtype(input));
  call.backend.reduce(Reduction::sum, gradient, sum);
  call.gradients.deliver(input, reshaped(sum, shape));
}

Op elementwise_op(ElementwiseSpec spec) {
  Op op{.name = spec.name,
        .cast = spec.cast,
        .operands = spec.operands,
        .keeps = {},
        .forward = {},
        .backward = {},
        .examples = spec.examples,
        .differentiate = spec.differentiate};
  for (const Gradient& gradient : spec.gradients)
    for (const Operand which : gradient.operands)
      if (which != Operand::dy && std::find(op.keeps.begin(), op.keeps.end(), which) == op.keeps.end())
        op.keeps.push_back(which);
  op.forward = [formula = spec.forward](Call& call) {
    Shape shape = call.inputs[0].shape();
    for (const Tensor& input : call.inputs.subspan(1)) shape = broadcast(shape, input.shape());
    Tensor y(shape, call.result);
    call.backend.elementwise(formula, call.inputs, y, scalars(call.options));
    return y;
  };
  op.backward = [gradients = std::move(spec.gradients)](BackwardCall& call) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (call.gradients.wanted(static_cast<int>(i)))
        deliver_gradient(call, static_cast<int>(i), gradients[i]);
  };
  return op;
}

}  // namespace halftone
