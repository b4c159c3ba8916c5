// SPDX-License-Identifier: Apache-2.0
#include "op/mean_loss.h"

#include <utility>

namespace halftone {

Op mean_loss_op(std::string_view name, Formula value, Formula gradient,
                std::function<std::vector<Example>()> examples,
                std::function<std::vector<Tensor>(const DifferentiateCall&)> differentiate) {
  return {
      .name = name,
      .cast = CastPolicy::float32,
      .keeps = {Operand::x0, Operand::x1},
      .forward =
          [value](Call& call) {
            const Tensor& x = call.inputs[0];
            const Tensor terms({x.count(), 1}, call.result);
            call.backend.elementwise(value, call.inputs,
                                     terms.view(x.shape(), contiguous_strides(x.shape()), 0));
            Tensor loss({}, call.result);
            call.backend.reduce(Reduction::sum, terms, loss.view({1, 1}, {1, 1}, 0),
                                1 / static_cast<double>(x.count()));
            return loss;
          },
      .backward =
          [gradient](BackwardCall& call) {
            const Tensor& x = call.inputs[0];
            Tensor dx(x.shape(), call.gradients.dtype(0));
            const Tensor in[] = {x, call.inputs[1], call.gradient};
            const double share[] = {1 / static_cast<double>(x.count())};
            call.backend.elementwise(gradient, in, dx, share);
            call.gradients.deliver(0, std::move(dx));
          },
      .examples = std::move(examples),
      .differentiate = std::move(differentiate),
  };
}

void check_loss(std::string_view op, const Tensor& x, const Tensor& target) {
  if (x.shape() != target.shape() || x.count() == 0)
    throw ShapeError(op, to_string(x.shape()) + " with target " + to_string(target.shape()),
                     "equal shapes of at least one element");
  if (target.requires_grad() && thread_state().grad_enabled)
    throw ValueError(op, "a target that requires a gradient", "a constant target", "target.detach()");
}

}  // namespace halftone
