// SPDX-License-Identifier: Apache-2.0
//
// The innermost dimension is reduced: each row is cut into tiles, and the tiles of a group are numbered
// through.
#include <cmath>

#include "backend/cpu/reduce.h"
#include "backend/cpu/sums.h"

namespace halftone::cpu {
namespace {

// A tile whose sum leaves float32 (two values of 3e38 do) is added up in double: its mean may fit again.
double in_double(std::span<const float> tile) {
  double total = 0;
  for (const float v : tile) total += double{v};
  return total;
}

}  // namespace

void reduce_along(const ReduceLoop& loop) {
  const RowFunction<float> run =
      kAlongRow[static_cast<int>(loop.kind)].float32[static_cast<int>(simd_level())];
  const std::int64_t groups = loop.groups.count(), width = std::min(loop.width, kTile);
  const std::int64_t tiles_per_row = chunk_count(loop.width, width),
                     tiles = loop.rows.count() * tiles_per_row;
  const std::int64_t per_segment = std::clamp<std::int64_t>(kSegment / width, 1, tiles);
  const std::int64_t segments = chunk_count(tiles, per_segment);

  constexpr std::int64_t kOnStack = 64;
  double on_stack[kOnStack];
  Tensor scratch;
  double* partial = on_stack;
  if (segments > 1 && groups * segments > kOnStack) {
    scratch = Tensor({groups * segments}, float64);
    partial = scratch.mutable_data<double>();
  }

  for_each_segment(groups, segments, per_segment * width, [&](std::int64_t group, std::int64_t segment) {
    alignas(64) float tile[kTile];
    float sum;
    Rows<float> rows{{}, {}, nullptr, 0};
    rows.out[0] = {&sum, 1};
    double total = start(loop.kind);
    const std::int64_t base = loop.group_offset(group, 0);
    const std::int64_t begin = segment * per_segment, end = std::min(begin + per_segment, tiles);
    std::int64_t row = begin == 0 ? 0 : begin / tiles_per_row, tile_of_row = begin - row * tiles_per_row;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = tile_of_row * width, count = std::min(width, loop.width - first);
      const void* source = loop.at(base + loop.row_offset(row) + first * loop.stride);
      rows.in[0] = {load_block(loop.dtype, source, {1, count, 0, loop.stride}, tile),
                    static_cast<std::size_t>(count)};
      run(rows);
      const bool overflow = loop.kind == Reduction::sum && !std::isfinite(sum);
      total = combine(loop.kind, total, overflow ? in_double(rows.in[0]) : double{sum});
      if (++tile_of_row == tiles_per_row) tile_of_row = 0, ++row;
    }
    if (segments == 1)
      loop.store(loop.group_offset(group, 1), total);
    else
      partial[group * segments + segment] = total;
  });
  if (segments == 1) return;

  for (std::int64_t group = 0; group < groups; ++group) {
    double total = start(loop.kind);
    for (std::int64_t i = 0; i < segments; ++i)
      total = combine(loop.kind, total, partial[group * segments + i]);
    loop.store(loop.group_offset(group, 1), total);
  }
}

}  // namespace halftone::cpu
