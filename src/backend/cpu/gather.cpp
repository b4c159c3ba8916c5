// SPDX-License-Identifier: Apache-2.0
//
// rows[i] = table[indices[i]], in parallel over the rows; and table[indices[i]] += rows[i], in parallel over
// the columns, so that the additions to one element happen in the order of the indices on any number of
// threads.
#include <algorithm>

#include "backend/cpu/cpu.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/tile.h"
#include "backend/rows.h"
#include "halftone/parallel.h"

namespace halftone {
namespace {

using cpu::kTile;

// One operand: where row `row` from column `column` on lies, and the block that `columns` of it make.
struct Matrix {
  explicit Matrix(const Tensor& x, void* written = nullptr)
      : dtype(x.dtype()),
        data(written ? written : const_cast<void*>(x.raw())),
        row_stride(x.strides()[0]),
        column_stride(x.strides()[1]) {}
  void* at(std::int64_t row, std::int64_t column) const {
    return cpu::advance(data, dtype, row * row_stride + column * column_stride);
  }
  cpu::Block block(std::int64_t columns) const { return {1, columns, 0, column_stride}; }

  DType dtype;
  void* data;
  std::int64_t row_stride, column_stride;
};

}  // namespace

void Cpu::gather(const Tensor& table, const Tensor& indices, const Tensor& rows) const {
  const bool same = table.dtype() == rows.dtype();
  if (!same && (!cpu::fits_float32(table.dtype()) || cpu::is_wide(rows)))
    return cpu::reference_backend().gather(table, indices, rows);
  check_indices("gather", indices, table.size(0));
  const std::int64_t width = rows.size(1), stride = indices.strides()[0];
  if (rows.count() == 0) return;
  const auto* index = static_cast<const std::int32_t*>(indices.raw());
  const Matrix from(table), to(rows, rows.raw_mutable());
  parallel_for(rows.size(0), std::max<std::int64_t>(cpu::kChunk / width, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 alignas(64) float tile[kTile];
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t row = index[i * stride];
                   if (same) {
                     cpu::move_codes(from.dtype.bytes(), from.at(row, 0), from.block(width), to.at(i, 0),
                                     to.block(width));
                     continue;
                   }
                   for (std::int64_t column = 0; column < width; column += kTile) {
                     const std::int64_t columns = std::min(kTile, width - column);
                     const float* values =
                         cpu::load_block(from.dtype, from.at(row, column), from.block(columns), tile);
                     cpu::store_block(to.dtype, to.at(i, column), to.block(columns), values);
                   }
                 }
               });
}

void Cpu::scatter_add(const Tensor& table, const Tensor& indices, const Tensor& rows) const {
  // In a narrow table the sums could not be kept where they belong; the reference keeps them aside.
  if (table.dtype() != float32 || cpu::is_wide(rows))
    return cpu::reference_backend().scatter_add(table, indices, rows);
  check_indices("scatter_add", indices, table.size(0));
  const std::int64_t count = rows.size(0), width = rows.size(1), stride = indices.strides()[0];
  const auto* index = static_cast<const std::int32_t*>(indices.raw());
  const Matrix from(rows), to(table, table.raw_mutable());
  constexpr std::int64_t kColumns = 64;  // whole cache lines: no two threads write the same one
  const std::int64_t columns_per_chunk = count * width <= cpu::kChunk ? kTile : kColumns;
  parallel_for(width, columns_per_chunk, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) float tile[kTile];
    for (std::int64_t i = 0; i < count; ++i) {
      const float* values = cpu::load_block(from.dtype, from.at(i, begin), from.block(end - begin), tile);
      float* sums = static_cast<float*>(to.at(index[i * stride], begin));
      for (std::int64_t c = 0; c < end - begin; ++c) sums[c * to.column_stride] += values[c];
    }
  });
}

}  // namespace halftone
