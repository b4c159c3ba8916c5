// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: each operand in a format that oneDNN multiplies exactly (onednn.h), the result cut into
// tiles of rows, of columns or of both, every tile one primitive on one thread. The tiles are a function of
// the sizes. What a tile alone reads or writes is decoded, or rounded, with it (matrices.h).
#include <algorithm>
#include <array>
#include <bit>

#include "backend/cpu/matrices.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/onednn_loops.h"
#include "backend/cpu/precision.h"
#include "backend/rows.h"
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

// The number of pieces is a power of two, so that threads get as many; none is shorter than `least`.
std::int64_t piece(std::int64_t size, std::int64_t least, std::int64_t step) {
  const auto pieces = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(size / least, 2, 64))));
  return std::min(size, round_up(chunk_count(size, pieces), step));
}

// The result is cut across its longer side: every tile packs, and decodes if need be, all of the operand that
// it shares with the others, and that is then the smaller one. Pieces are no narrower than high, so that it
// is not packed too often. Products of a matrix of rows are cut both ways: large ones, so that more than a
// few threads have work, and all in float32, where oneDNN has slower loops for a tile as wide as the matrix,
// which collapse if that is wider than its cache.
MatrixSize tile_of(const Matmul& call, DType format) {
  const std::int64_t rows = call.c.size(-2), columns = call.c.size(-1), inner = call.a.size(-1);
  if (2 * rows * columns * inner < kInlineOperations) return {rows, columns};
  const bool wide = columns > rows || rows < 64, has_rows = PlainStrides(call.a).column == 1;
  if (wide && !(has_rows && rows >= 1024))
    return {rows, piece(columns, std::max<std::int64_t>(rows, 384), 64)};
  if (!has_rows || (!wide && format != float32)) return {piece(rows, 192, 16), columns};
  constexpr std::int64_t kWidest = 1024;
  const std::int64_t narrowest = PlainStrides(call.b).column == 1 ? 192 : 384;  // what is not packed is cheap
  const std::int64_t across = std::max(
      {std::int64_t{1}, std::min<std::int64_t>(2, columns / narrowest), chunk_count(columns, kWidest)});
  const std::int64_t least = wide                       ? 768
                             : call.a.dtype() == format ? 384
                                                        : 192;  // rows to decode are one task
  return {piece(rows, least, 16), std::min(columns, round_up(chunk_count(columns, across), 64))};
}

// Whether to copy tiles of a transposed `a`: what belongs to one of its rows is a page or more apart, and
// oneDNN goes through it more than once where the result has several columns.
bool is_far_apart(const Tensor& a, std::int64_t columns) {
  constexpr std::int64_t kPage = 4096 / sizeof(float), kLeastColumns = 64;
  const PlainStrides strides(a);
  return a.dtype() == float32 && strides.row == 1 && strides.column >= kPage && columns >= kLeastColumns;
}

void multiply(const Matmul& call) {
  const Tensor bias = call.bias.defined() ? contiguous(decoded(call.bias, float32)) : Tensor();
  const DType format = product_format(call.a.dtype(), call.b.dtype());
  const std::int64_t rows = call.c.size(-2), columns = call.c.size(-1), inner = call.a.size(-1);
  const MatrixSize tile = tile_of(call, format);
  const std::int64_t down = chunk_count(rows, tile.rows), across = chunk_count(columns, tile.columns),
                     tiles = down * across;
  const std::int64_t products = leading(call.c.shape(), 2).count();
  // One product alone leaves the decoding of what has several chunks to all threads. Rows that several tiles
  // share are decoded with the first of them, and all are one task, if that leaves enough tasks.
  const auto with_tile = [&](const Tensor& x) { return products * tiles > 1 || x.count() <= kChunk; };
  constexpr std::int64_t kTasks = 4;
  const SourceMatrix a(call.a, format, {tile.rows, inner},
                       with_tile(call.a) && (across == 1 || products * down >= kTasks),
                       is_far_apart(call.a, columns));
  const SourceMatrix b(call.b, format, {inner, tile.columns},
                       with_tile(call.b) && down == 1 && (call.b.rank() > 2 || products == 1));
  const ResultMatrix c(call.c, format, call.accumulate);

  Nest batches(leading(call.c.shape(), 2));
  for (const Tensor* x : {&a.tensor(), &b.tensor(), &c.tensor()})
    batches.add(leading(x->shape(), 2), leading(x->strides(), 2));
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
  const std::int64_t last_rows = rows - (down - 1) * tile.rows,
                     last_columns = columns - (across - 1) * tile.columns;
  const bool uneven_rows = last_rows != tile.rows, uneven_columns = last_columns != tile.columns;
  // Of whole tiles, of the last ones of columns, of rows, and of both.
  std::array<std::shared_ptr<const CompiledPrimitive>, 4> primitives = {compiled(tile)};
  if (uneven_columns) primitives[1] = compiled({tile.rows, last_columns});
  if (uneven_rows) primitives[2] = compiled({last_rows, tile.columns});
  if (uneven_rows && uneven_columns) primitives[3] = compiled({last_rows, last_columns});

  const auto* from_bias = bias.defined() ? bias.data<float>() : nullptr;
  const std::int64_t operations = 2 * tile.rows * tile.columns * inner;
  const std::int64_t unit = a.copies() ? across : 1;
  parallel_for(
      products * tiles,
      round_up(std::max<std::int64_t>(1, kInlineOperations / std::max<std::int64_t>(operations, 1)), unit),
      [&](std::int64_t begin, std::int64_t end) {
        Tensor a_tile, b_tile, c_tile;
        const void* a_rows = nullptr;
        for (std::int64_t task = begin; task < end; ++task) {
          std::int64_t at[3];
          batches.locate(task / tiles, batches.rank, at);
          const std::int64_t row = task % tiles / across * tile.rows, column = task % across * tile.columns;
          const MatrixSize size{std::min(tile.rows, rows - row), std::min(tile.columns, columns - column)};
          const CompiledPrimitive& run =
              *primitives[(size.rows != tile.rows ? 2u : 0u) + (size.columns != tile.columns ? 1u : 0u)];
          const std::int64_t to = at[2] + row * c.strides().row + column;
          if ((task - begin) % unit == 0)
            a_rows = a.read(at[0] + row * a.strides().row, {size.rows, inner}, a_tile);
          const Argument source{DNNL_ARG_SRC, a_rows},
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
