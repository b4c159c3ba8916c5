// SPDX-License-Identifier: Apache-2.0
//
// rows[i] = table[indices[i]], and its adjoint table[indices[i]] += rows[i]. Every index is checked before
// the first write. The adjoint sums the rows of one index in double and rounds once.
#include <vector>

#include "backend/reference/element.h"
#include "backend/reference/reference.h"
#include "backend/rows.h"

namespace halftone {
namespace {

std::int64_t row_of(const Tensor& indices, std::int64_t i) {
  return static_cast<const std::int32_t*>(indices.raw())[i * indices.strides()[0]];
}

std::int64_t at(const Tensor& x, std::int64_t row, std::int64_t column) {
  return row * x.strides()[0] + column * x.strides()[1];
}

}  // namespace

void Reference::gather(const Tensor& table, const Tensor& indices, const Tensor& rows) const {
  check_indices("gather", indices, table.size(0));
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const Tensor from = table.view({rows.size(1)}, {table.strides()[1]},
                                   table.offset() + row_of(indices, i) * table.strides()[0]);
    const Tensor to = rows.view({rows.size(1)}, {rows.strides()[1]}, rows.offset() + i * rows.strides()[0]);
    copy(from, to);
  }
}

void Reference::scatter_add(const Tensor& table, const Tensor& indices, const Tensor& rows) const {
  check_indices("scatter_add", indices, table.size(0));
  const std::int64_t width = table.size(1);
  std::vector<double> sums(static_cast<std::size_t>(table.count()));
  std::vector<bool> touched(static_cast<std::size_t>(table.size(0)));
  const reference::Reader source(rows);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const std::int64_t row = row_of(indices, i);
    touched[static_cast<std::size_t>(row)] = true;
    for (std::int64_t c = 0; c < width; ++c)
      sums[static_cast<std::size_t>(row * width + c)] += source[at(rows, i, c)];
  }
  const reference::Writer target(table);
  for (std::int64_t row = 0; row < table.size(0); ++row)
    for (std::int64_t c = 0; touched[static_cast<std::size_t>(row)] && c < width; ++c) {
      const std::int64_t offset = at(table, row, c);
      target.write(offset, target.read(offset) + sums[static_cast<std::size_t>(row * width + c)]);
    }
}

}  // namespace halftone
