// SPDX-License-Identifier: Apache-2.0
//
// embedding: rows of a table by index. The gradient of the table adds up in float32 however often a row is
// used: 1000 lookups of one row give 1000, where bfloat16 would stop at 256.
#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op embedding_op{
    .name = "embedding",
    .cast = CastPolicy::keep,
    .operands = 1,
    .keeps = {Operand::x1},
    .forward =
        [](Call& call) {
          const Tensor &table = call.inputs[0], &indices = call.inputs[1];
          std::vector<std::int64_t> shape(indices.shape().begin(), indices.shape().end());
          shape.push_back(table.size(1));
          Tensor y(Shape(std::span<const std::int64_t>(shape)), call.result);
          call.backend.gather(table, indices.view({indices.count()}, {1}, indices.offset()),
                              y.view({indices.count(), table.size(1)}, {table.size(1), 1}, 0));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor& indices = call.inputs[1];
          const Tensor sum = call.gradients.accumulator(0);
          Tensor dtable =
              sum ? sum : zeros(call.shapes[0], call.gradient.dtype() == float64 ? float64 : float32);
          Tensor dy = call.gradient;
          if (!dy.is_contiguous()) {
            dy = Tensor(call.gradient.shape(), call.gradient.dtype());
            call.backend.copy(call.gradient, dy);
          }
          const std::int64_t width = dtable.size(1);
          call.backend.scatter_add(dtable, indices.view({indices.count()}, {1}, indices.offset()),
                                   dy.view({indices.count(), width}, {width, 1}, dy.offset()));
          if (!sum) call.gradients.deliver(0, std::move(dtable));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{5, 3}}, {{7}, 0, 5, int32, false}}},
                                      {{{{2, 4}}, {{2, 3}, 0, 2, int32, false}}}};
        },
};
const Register registered(embedding_op);

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& indices) {
  if (table.rank() != 2 || indices.dtype() != int32 || indices.rank() >= kMaxRank || !indices.is_contiguous())
    throw ShapeError("embedding",
                     "table " + to_string(table.shape()) + ", " + std::string(indices.dtype().name()) +
                         " indices " + to_string(indices.shape()),
                     "table (count, width), contiguous int32 indices");
  return apply(embedding_op, {table, indices});
}

}  // namespace halftone
