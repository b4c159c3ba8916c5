// SPDX-License-Identifier: Apache-2.0
//
// matmul: c = a b;  da = dc b^T, db = a^T dc. Products in the compute format, accumulation in float32. The
// options may hold the format of the result: gradients of leaves are float32 whatever is multiplied.
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/contraction.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

const Op matmul_op{
    .name = "matmul",
    .cast = CastPolicy::compute,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          const Tensor &a = call.inputs[0], &b = call.inputs[1];
          Shape shape = a.shape();
          shape[-1] = b.size(-1);
          const auto* asked = std::any_cast<DType>(&call.options);
          const Tensor c(shape, asked ? *asked : call.result);
          if (b.rank() == 2) {  // one matrix for all: a tall product instead of a batch of small ones
            const Tensor flat = as_matrix(call.backend, a);
            const Shape rows{flat.size(0), b.size(1)};
            call.backend.matmul(
                {.a = flat, .b = b, .c = c.view(rows, contiguous_strides(rows), 0), .bias = {}});
          } else {
            call.backend.matmul({.a = a, .b = b, .c = c, .bias = {}});
          }
          return c;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor &a = call.inputs[0], &b = call.inputs[1], &dc = call.gradient;
          if (b.rank() == 2) {
            const Tensor rows = as_matrix(call.backend, dc);
            if (call.gradients.wanted(0)) deliver_product(call, 0, rows, transposed(b));
            if (call.gradients.wanted(1))
              deliver_product(call, 1, transposed(as_matrix(call.backend, a)), rows);
          } else {
            if (call.gradients.wanted(0)) deliver_product(call, 0, dc, transposed(b));
            if (call.gradients.wanted(1)) deliver_product(call, 1, transposed(a), dc);
          }
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{5, 4}}}},
                                      {{{{2, 3, 5}}, {{5, 4}}}},
                                      {{{{2, 2, 3, 5}}, {{2, 2, 5, 3}}}},
                                      {{{{2, 300}}, {{300, 2}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &a = call.inputs[0], &b = call.inputs[1], &dc = call.gradient;
          std::vector<Tensor> gradients(2);
          if (call.wanted(0)) gradients[0] = product(dc, exchanged(b), call.gradients.dtype(0));
          if (call.wanted(1))
            gradients[1] = b.rank() == 2
                               ? product(exchanged(joined_rows(a)), joined_rows(dc), call.gradients.dtype(1))
                               : product(exchanged(a), dc, call.gradients.dtype(1));
          return gradients;
        },
};
const Register registered(matmul_op);

}  // namespace

Tensor product(const Tensor& a, const Tensor& b, DType result) { return apply(matmul_op, {a, b}, result); }

Tensor matmul(const Tensor& a, const Tensor& b) {
  bool fits =
      a.rank() >= 2 && b.rank() >= 2 && a.size(-1) == b.size(-2) && (b.rank() == 2 || b.rank() == a.rank());
  for (int axis = 0; fits && b.rank() > 2 && axis < a.rank() - 2; ++axis) fits = a.size(axis) == b.size(axis);
  if (!fits)
    throw ShapeError(
        "matmul", to_string(a.shape()) + " x " + to_string(b.shape()),
        "(.., rows, inner) x (.., inner, columns) with equal leading sizes, or a matrix on the right");
  return apply(matmul_op, {a, b});
}

}  // namespace halftone
