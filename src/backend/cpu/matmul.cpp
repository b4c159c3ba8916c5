// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: each operand in a format that oneDNN multiplies exactly (onednn.h), the result cut into
// tiles of rows or of columns, every tile one primitive on one thread. The tiles are a function of the sizes.
// What a tile alone reads or writes is decoded, or rounded, with it (matrices.h).
#include <algorithm>
#include <bit>

#include "backend/cpu/matrices.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/onednn_loops.h"
#include "backend/cpu/precision.h"
#include "backend/iteration.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

// Below this many operations a second thread costs more than it brings.
constexpr std::int64_t kInlineOperations = 8'000'000;

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

// The result is cut across its longer side: every tile packs, and decodes if need be, all of the operand that
// it shares with the others, and that is then the smaller one. Pieces are no narrower than high, so that it
// is not packed too often.
MatrixSize tile_of(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  if (2 * rows * columns * inner < kInlineOperations) return {rows, columns};
  auto cut = [](std::int64_t size, std::int64_t least, std::int64_t step) {
    const auto pieces = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(size / least, 2, 64))));
    return std::min(size, round_up(chunk_count(size, pieces), step));
  };
  if (columns > rows || rows < 64) return {rows, cut(columns, std::max<std::int64_t>(rows, 384), 64)};
  return {cut(rows, 192, 16), columns};
}

Shape batch(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2)));
}

void multiply(const Matmul& call) {
  const Tensor bias = call.bias.defined() ? contiguous(decoded(call.bias, float32)) : Tensor();
  const DType format = product_format(call.a.dtype(), call.b.dtype());
  const std::int64_t rows = call.c.size(-2), columns = call.c.size(-1), inner = call.a.size(-1);
  const MatrixSize tile = tile_of(rows, columns, inner);
  const std::int64_t down = chunk_count(rows, tile.rows), across = chunk_count(columns, tile.columns),
                     tiles = down * across;
  const std::int64_t products = batch(call.c.shape()).count();
  // One product alone leaves the decoding of what has several chunks to all threads.
  const auto with_tile = [&](const Tensor& x) { return products * tiles > 1 || x.count() <= kChunk; };
  const SourceMatrix a(call.a, format, {tile.rows, inner}, with_tile(call.a) && across == 1);
  const SourceMatrix b(call.b, format, {inner, tile.columns},
                       with_tile(call.b) && down == 1 && (call.b.rank() > 2 || products == 1));
  const ResultMatrix c(call.c, format, call.accumulate);

  Nest batches(batch(call.c.shape()));
  for (const Tensor* x : {&a.tensor(), &b.tensor(), &c.tensor()})
    batches.add(batch(x->shape()), batch(x->strides()));
  const auto compiled = [&](MatrixSize size) {
    return compiled_product({.format = format,
                             .result = c.written(),
                             .rows = size.rows,
                             .columns = size.columns,
                             .inner = inner,
                             .a = a.layout({size.rows, inner}),
                             .b = b.layout({inner, size.columns}),
                             .c_row = c.row_stride(size),
                             .bias = bias.defined(),
                             .accumulate = call.accumulate});
  };
  const MatrixSize last{rows - (down - 1) * tile.rows, columns - (across - 1) * tile.columns};
  const auto whole = compiled(tile), rest = tiles == 1 ? whole : compiled(last);

  const auto* from_bias = bias.defined() ? bias.data<float>() : nullptr;
  const std::int64_t operations = 2 * tile.rows * tile.columns * inner;
  parallel_for(
      products * tiles, std::max<std::int64_t>(1, kInlineOperations / std::max<std::int64_t>(operations, 1)),
      [&](std::int64_t begin, std::int64_t end) {
        Tensor a_tile, b_tile, c_tile;
        for (std::int64_t task = begin; task < end; ++task) {
          std::int64_t at[3];
          batches.locate(task / tiles, batches.rank, at);
          const std::int64_t row = task % tiles / across * tile.rows, column = task % across * tile.columns;
          const MatrixSize size{std::min(tile.rows, rows - row), std::min(tile.columns, columns - column)};
          const CompiledPrimitive& run =
              size.rows == tile.rows && size.columns == tile.columns ? *whole : *rest;
          const std::int64_t to = at[2] + row * c.strides().row + column;
          const Argument source{DNNL_ARG_SRC,
                                a.read(at[0] + row * a.strides().row, {size.rows, inner}, a_tile)},
              weights{DNNL_ARG_WEIGHTS,
                      b.read(at[1] + column * b.strides().column, {inner, size.columns}, b_tile)},
              target{DNNL_ARG_DST, c.open(to, size, c_tile)};
          if (from_bias)
            execute(run, {source, weights, target, {DNNL_ARG_BIAS, from_bias + column}});
          else
            execute(run, {source, weights, target});
          c.close(to, size, c_tile);
        }
      });
  c.finish();
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

  multiply(call);
}

}  // namespace halftone::cpu
