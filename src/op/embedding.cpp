// SPDX-License-Identifier: Apache-2.0
//
// embedding: rows of a table by index. The gradient of the table adds up in float32 however often a row is
// used: 1000 lookups of one row give 1000, where bfloat16 would stop at 256.
#include <utility>

#include "backend/rows.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

Tensor list(const Tensor& indices) { return reshaped(indices, {indices.count()}); }

// rows, contiguous: those of the table at `indices`.
void gather(const Backend& backend, const Tensor& table, const Tensor& indices, const Tensor& rows) {
  backend.gather(table, list(indices), matrix_of(rows));
}

// table += rows at `indices`.
void scatter(const Backend& backend, const Tensor& table, const Tensor& indices, const Tensor& rows) {
  backend.scatter_add(table, list(indices), matrix_of(contiguous(backend, rows)));
}

// The other way round, for the second derivative: rows added up in a table of zeros.
const Op scatter_op{
    .name = "scatter_rows",
    .cast = CastPolicy::keep,
    .operands = 1,
    .keeps = {Operand::x1},
    .forward =
        [](Call& call) {
          const Tensor table = zeros(call.as<Shape>(), call.result);
          scatter(call.backend, table, call.inputs[1], call.inputs[0]);
          return table;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor rows(call.shapes[0], call.gradients.dtype(0));
          gather(call.backend, call.gradient, call.inputs[1], rows);
          call.gradients.deliver(0, rows);
        },
    .examples = {},
    .differentiate =
        [](const DifferentiateCall& call) { return std::vector{embedding(call.gradient, call.inputs[1])}; },
};

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
          gather(call.backend, table, indices, y);
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          if (!call.gradients.wanted(0)) return;
          const Tensor& indices = call.inputs[1];
          const Tensor sum = call.gradients.accumulator(0);
          Tensor dtable = sum ? sum : zeros(call.shapes[0], sum_dtype(call.gradient.dtype()));
          scatter(call.backend, dtable, indices, call.gradient);
          if (!sum) call.gradients.deliver(0, std::move(dtable));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{5, 3}}, {{7}, 0, 5, int32, false}}},
                                      {{{{2, 4}}, {{2, 3}, 0, 2, int32, false}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{apply(scatter_op, {call.gradient, call.inputs[1]}, call.shapes[0])};
        },
};
const Register registered(embedding_op);

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& indices) {
  if (table.rank() != 2 || indices.dtype() != int32 || indices.rank() >= kMaxRank)
    throw ShapeError("embedding",
                     "table " + to_string(table.shape()) + ", " + std::string(indices.dtype().name()) +
                         " indices " + to_string(indices.shape()),
                     "table (count, width), int32 indices");
  const Tensor read = contiguous(*thread_state().backend, indices);
  check_indices("embedding", list(read), table.size(0));
  return apply(embedding_op, {table, read});
}

}  // namespace halftone
