// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: each operand in a format that oneDNN multiplies exactly (onednn.h), the result cut into
// tiles of rows or of columns, every tile one primitive on one thread. The tiles are a function of the sizes.
#include <algorithm>
#include <bit>

#include "backend/cpu/onednn.h"
#include "backend/cpu/onednn_loops.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/tile_product.h"
#include "backend/iteration.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

// Below this many operations a second thread costs more than it brings.
constexpr std::int64_t kInlineOperations = 8'000'000;

struct Strides : MatrixStrides {
  bool plain;
};

Strides strides_of(const Tensor& x) {
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  std::int64_t row = x.strides()[-2], column = x.strides()[-1];
  if (columns == 1) column = 1;  // the stride of a single row or column means nothing
  if (rows == 1) row = column == 1 ? columns : 1;
  const bool plain = (column == 1 && row >= columns) || (row == 1 && column >= rows);
  return {{row, column}, plain};
}

Tensor operand(const Tensor& x, DType format) {
  const Tensor y = decoded(x, format);
  return strides_of(y).plain ? y : contiguous(y);
}

// All axes but the last joined, if the strides allow it; otherwise undefined.
Tensor as_matrix(const Tensor& x) {
  std::int64_t rows = 1, stride = x.strides()[-2];
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    if (x.size(axis) != 1 && rows != 1 && x.strides()[axis] != rows * stride) return {};
    if (rows == 1) stride = x.strides()[axis];
    rows *= x.size(axis);
  }
  return x.view({rows, x.size(-1)}, {stride, x.strides()[-1]}, x.offset());
}

struct Tile {
  std::int64_t rows, columns;
};

// Tiles of whole rows, because oneDNN packs b: each tile packs all of it, so tiles are at least 192 rows (64
// for the smallest results). Only results much wider than high are cut into columns.
Tile tile_of(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  if (2 * rows * columns * inner < kInlineOperations) return {rows, columns};
  auto cut = [](std::int64_t size, std::int64_t least, std::int64_t step) {
    const auto pieces = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(size / least, 2, 64))));
    return std::min(size, chunk_count(chunk_count(size, pieces), step) * step);
  };
  if (columns > 8 * rows || rows < 64) return {rows, cut(columns, 1024, 64)};
  return {cut(rows, 192, 16), columns};
}

Shape batch(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2)));
}

// c has a type and strides that oneDNN writes.
void multiply(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& bias, bool accumulate) {
  Nest batches(batch(c.shape()));
  for (const Tensor* x : {&a, &b, &c}) batches.add(batch(x->shape()), batch(x->strides()));
  TileProduct product{.format = a.dtype(),
                      .result = c.dtype(),
                      .rows = 0,
                      .columns = 0,
                      .inner = a.size(-1),
                      .a = strides_of(a),
                      .b = strides_of(b),
                      .c_row = strides_of(c).row,
                      .bias = bias.defined(),
                      .accumulate = accumulate};
  const auto compiled = [&](Tile size) {
    product.rows = size.rows;
    product.columns = size.columns;
    return compiled_product(product);
  };
  const std::int64_t rows = c.size(-2), columns = c.size(-1);
  const Tile tile = tile_of(rows, columns, product.inner);
  const std::int64_t across = chunk_count(columns, tile.columns),
                     tiles = chunk_count(rows, tile.rows) * across;
  const Tile last{rows - (chunk_count(rows, tile.rows) - 1) * tile.rows,
                  columns - (across - 1) * tile.columns};
  const auto whole = compiled(tile), rest = compiled(last);

  const auto* from_a = static_cast<const std::byte*>(a.raw());
  const auto* from_b = static_cast<const std::byte*>(b.raw());
  const auto* from_bias = bias.defined() ? bias.data<float>() : nullptr;
  auto* to = static_cast<std::byte*>(c.raw_mutable());
  const std::int64_t operations = 2 * tile.rows * tile.columns * product.inner;
  parallel_for(batches.count() * tiles,
               std::max<std::int64_t>(1, kInlineOperations / std::max<std::int64_t>(operations, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) {
                   std::int64_t at[3];
                   batches.locate(task / tiles, batches.rank, at);
                   const std::int64_t row = task % tiles / across * tile.rows,
                                      column = task % across * tile.columns;
                   const bool full = row + tile.rows <= rows && column + tile.columns <= columns;
                   at[0] += row * product.a.row;
                   at[1] += column * product.b.column;
                   at[2] += row * product.c_row + column;
                   const CompiledPrimitive& run = full ? *whole : *rest;
                   std::byte* target = to + at[2] * c.dtype().bytes();
                   const std::byte *left = from_a + at[0] * a.dtype().bytes(),
                                   *right = from_b + at[1] * b.dtype().bytes();
                   if (from_bias)
                     execute(run, {{DNNL_ARG_SRC, left},
                                   {DNNL_ARG_WEIGHTS, right},
                                   {DNNL_ARG_DST, target},
                                   {DNNL_ARG_BIAS, from_bias + column}});
                   else
                     execute(run, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, target}});
                 }
               });
}

}  // namespace

void matmul(const Matmul& call) {
  const Tensor &a = call.a, &b = call.b, &c = call.c;
  if (c.count() == 0) return;
  const bool exact = fits_float32(a.dtype()) && fits_float32(b.dtype()) && fits_float32(c.dtype()) &&
                     (!call.bias.defined() || fits_float32(call.bias.dtype()));
  if (!exact || a.size(-1) == 0) return reference_backend().matmul(call);

  if (b.rank() == 2 && a.rank() > 2) {
    Matmul flat = call;
    flat.a = as_matrix(a);
    flat.c = as_matrix(c);
    if (flat.a.defined() && flat.c.defined()) return matmul(flat);
  }

  const DType format = product_format(a.dtype(), b.dtype());
  const bool written_by_onednn =
      c.dtype() == float32 || (c.dtype() == bfloat16 && format == bfloat16 && !call.accumulate);
  const Strides strides = strides_of(c);
  const bool direct = written_by_onednn && strides.plain && (strides.column == 1 || c.size(-1) == 1);
  const Tensor target = direct ? c : Tensor(c.shape(), float32);
  const Backend& cpu = find_backend("cpu");
  if (!direct && call.accumulate) cpu.copy(c, target);
  const Tensor bias = call.bias.defined() ? contiguous(decoded(call.bias, float32)) : Tensor();
  multiply(operand(a, format), operand(b, format), target, bias, call.accumulate);
  if (!direct) cpu.copy(target, c);
}

}  // namespace halftone::cpu
