// SPDX-License-Identifier: Apache-2.0
//
// to = from. Within one format codes move unchanged. Between formats, a value that is a float32 goes through
// float32 rows (exactly, so that it is rounded once, on the way out); float64 and the wider integers are the
// reference's.
#include <algorithm>

#include "backend/cpu/cpu.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/tile.h"
#include "backend/iteration.h"
#include "halftone/parallel.h"

namespace halftone {
namespace {

using cpu::kChunk;

constexpr Formula kIdentity = formula<1>([](auto x) { return x; });

void move(const Tensor& from, const Tensor& to) {
  const DType dtype = to.dtype();
  Nest nest(to.shape());
  nest.add(to);
  nest.add(from);
  nest.order_by(0);
  nest.coalesce();
  const int inner = nest.rank - 1;
  // The rows of a block lie along the dimension in which `from` is dense, so that a transposition goes by
  // squares.
  for (int d = 0; d < inner - 1; ++d)
    if (nest.stride[d][1] < nest.stride[inner - 1][1]) nest.swap_dimensions(d, inner - 1);

  const void* source = from.raw();
  void* target = to.raw_mutable();
  const std::int64_t columns = nest.size[inner], to_column = nest.stride[inner][0],
                     from_column = nest.stride[inner][1];
  if (inner == 0) {
    parallel_for(columns, kChunk, [&](std::int64_t begin, std::int64_t end) {
      cpu::move_codes(dtype.bytes(), cpu::advance(source, dtype, begin * from_column),
                      {1, end - begin, 0, from_column}, cpu::advance(target, dtype, begin * to_column),
                      {1, end - begin, 0, to_column});
    });
    return;
  }
  // A unit is some rows of one block, at least a square's.
  const std::int64_t rows = nest.size[inner - 1];
  const std::int64_t step = std::max<std::int64_t>(kChunk / columns, 32);
  const std::int64_t units = chunk_count(rows, step);
  const std::int64_t elements = std::min(step, rows) * columns;
  parallel_for(nest.count(inner - 1) * units, std::max<std::int64_t>(kChunk / elements, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   std::int64_t offset[Nest::kOperands];
                   nest.locate(unit / units, inner - 1, offset);
                   const std::int64_t first = unit % units * step, count = std::min(step, rows - first);
                   const std::int64_t to_row = nest.stride[inner - 1][0],
                                      from_row = nest.stride[inner - 1][1];
                   cpu::move_codes(dtype.bytes(), cpu::advance(source, dtype, offset[1] + first * from_row),
                                   {count, columns, from_row, from_column},
                                   cpu::advance(target, dtype, offset[0] + first * to_row),
                                   {count, columns, to_row, to_column});
                 }
               });
}

}  // namespace

void Cpu::copy(const Tensor& from, const Tensor& to) const {
  if (to.count() == 0) return;
  if (from.dtype() == to.dtype()) return move(from, to);
  if (!cpu::fits_float32(from.dtype())) return cpu::reference_backend().copy(from, to);
  const bool runs = from.is_contiguous() && to.is_contiguous();
  if (runs && to.dtype() == float32) {
    const void* codes = from.raw();
    float* values = static_cast<float*>(to.raw_mutable());
    parallel_for(to.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
      decode_row(from.dtype(), cpu::advance(codes, from.dtype(), begin), values + begin, end - begin);
    });
  } else if (runs && from.dtype() == float32) {
    const float* values = static_cast<const float*>(from.raw());
    void* codes = to.raw_mutable();
    parallel_for(to.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
      encode_row(to.dtype(), values + begin, cpu::advance(codes, to.dtype(), begin), end - begin);
    });
  } else if (cpu::is_wide(to.dtype())) {
    cpu::reference_backend().copy(from, to);
  } else {
    elementwise(kIdentity, std::span(&from, 1), to, {});
  }
}

}  // namespace halftone
