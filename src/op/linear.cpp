// SPDX-License-Identifier: Apache-2.0
//
// linear: y = x W^T + b;  dx = dy W, dW = dy^T x, db = sum of dy over rows. The bias is read as it is and
// added to the float32 accumulator, before the one rounding of the result. Operands of a recipe with short
// ones are rounded along the axis that the product sums over, which is another one in each of the three.
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/contraction.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

const Op linear_op{
    .name = "linear",
    .cast = CastPolicy::compute,
    .operands = 2,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          const Tensor x = as_matrix(call.backend, call.operand(0, Along::last));
          const Tensor weight = call.operand(1, Along::last);
          Shape shape = call.inputs[0].shape();
          shape[-1] = weight.size(0);
          Tensor y(shape, call.result);
          const Shape rows{x.size(0), weight.size(0)};
          call.backend.matmul({.a = x,
                               .b = transposed(weight),
                               .c = y.view(rows, contiguous_strides(rows), 0),
                               .bias = call.inputs[2]});
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const auto matrix = [&](const Tensor& x) { return as_matrix(call.backend, x); };
          if (call.gradients.wanted(2)) deliver_reduced(call, 2, matrix(call.gradient));
          if (call.gradients.wanted(1))
            deliver_product(call, 1, transposed(matrix(call.gradient_operand(Along::rows))),
                            matrix(call.operand(0, Along::rows)));
          if (call.gradients.wanted(0))
            deliver_product(call, 0, matrix(call.gradient_operand(Along::last)),
                            call.operand(1, Along::first));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{4, 5}}, {{4}}}},
                                      {{{{2, 3, 5}}, {{2, 5}}, {{2}}}},
                                      {{{{700, 3}}, {{2, 3}}, {{2}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          std::vector<Tensor> gradients(3);
          if (call.wanted(2)) gradients[2] = sum(joined_rows(call.gradient), {0});
          if (call.wanted(1))
            gradients[1] = product(exchanged(joined_rows(call.gradient_operand(Along::rows))),
                                   joined_rows(call.operand(0, Along::rows)), call.gradients.dtype(1));
          if (call.wanted(0))
            gradients[0] = reshape(product(joined_rows(call.gradient_operand(Along::last)),
                                           call.operand(1, Along::first), call.gradients.dtype(0)),
                                   call.shapes[0]);
          return gradients;
        },
    .quantizes = true,
};
const Register registered(linear_op);

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.rank() < 1 || weight.rank() != 2 || x.size(-1) != weight.size(1) ||
      (bias && bias.shape() != Shape{weight.size(0)}))
    throw ShapeError("linear",
                     to_string(x.shape()) + " with weight " + to_string(weight.shape()) +
                         (bias ? " and bias " + to_string(bias.shape()) : ""),
                     "x (.., in), weight (out, in), bias (out)");
  return apply(linear_op, {x, weight, bias});
}

}  // namespace halftone
