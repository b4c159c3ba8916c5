// SPDX-License-Identifier: Apache-2.0
//
// The innermost dimension is kept: rows are added up, one onto the other. Short rows that follow each other
// in memory are taken several at a time, as one long row; its folds are added up at the end.
#include <cmath>

#include "backend/cpu/reduce.h"
#include "backend/cpu/sums.h"

namespace halftone::cpu {
namespace {

constexpr std::int64_t kColumns = 256;      // of a long row; four of them fill a tile
constexpr std::int64_t kLongestSum = 1024;  // rows added up in float32, four by four

// Adds rows of `width` columns up into sum.
class RowAdder {
 public:
  RowAdder(const ReduceLoop& loop, std::int64_t width, float* sum)
      : loop_(loop),
        run_(kOntoRow[static_cast<int>(loop.kind)].float32[static_cast<int>(simd_level())]),
        width_(width) {
    rows_.out[0] = {sum, static_cast<std::size_t>(width)};
  }

  void add(std::int64_t offset, std::int64_t count, std::int64_t row_stride) {
    const bool in_place = loop_.dtype == float32 && (loop_.stride == 1 || width_ == 1);
    if (in_place) return add_floats(static_cast<const float*>(loop_.at(offset)), count, row_stride);
    const std::int64_t step = kTile / width_;
    for (std::int64_t row = 0; row < count; row += step) {
      const Block block{std::min(step, count - row), width_, row_stride, loop_.stride};
      add_floats(load_block(loop_.dtype, loop_.at(offset + row * row_stride), block, tile_), block.rows,
                 width_);
    }
  }

 private:
  void add_floats(const float* x, std::int64_t count, std::int64_t row_stride) {
    const auto width = static_cast<std::size_t>(width_);
    std::int64_t row = 0;
    for (; row + 4 <= count; row += 4) {
      for (int k = 0; k < 4; ++k) rows_.in[k] = {x + (row + k) * row_stride, width};
      run_(rows_);
    }
    rows_.in[1] = {};
    for (; row < count; ++row) {
      rows_.in[0] = {x + row * row_stride, width};
      run_(rows_);
    }
  }

  const ReduceLoop& loop_;
  RowFunction<float> run_;
  std::int64_t width_;
  Rows<float> rows_{{}, {}, nullptr, 0};
  alignas(64) float tile_[kTile];
};

struct Across {
  explicit Across(const ReduceLoop& reduction);

  const ReduceLoop& loop;
  std::int64_t rows;
  std::int64_t fold = 1;  // rows in a long row
  std::int64_t width;     // of a long row, cut into `tiles` of `tile` columns; if folded, there is one tile
  std::int64_t tile, tiles;
  std::int64_t per_segment, segments;  // in rows

  // Adds up one segment's rows, in the columns of one tile.
  void add_segment(std::int64_t group, std::int64_t column, std::int64_t segment, float* sum) const;
  // Stores the results of columns [first, first + count), which have that many partial results each,
  // loop.width apart.
  void finish(std::int64_t group, std::int64_t first, std::int64_t count, const float* partial,
              std::int64_t parts) const;
  // The sum of one column, in double throughout: for a sum that leaves float32 on the way (two values of 3e38
  // do), whose mean may fit again. `total` where it was an element that was not finite.
  double in_double(std::int64_t group, std::int64_t column, double total) const;
};

Across::Across(const ReduceLoop& reduction) : loop(reduction), rows(reduction.rows.count()) {
  const Nest& nest = loop.rows;
  if (loop.stride == 1 && nest.rank == 1 && nest.stride[0][0] == loop.width)
    while (fold * 2 * loop.width <= kColumns && fold * 4 <= rows) fold *= 2;
  width = fold * loop.width;
  tile = std::min(width, kColumns);
  tiles = chunk_count(width, tile);
  per_segment = std::clamp<std::int64_t>(kSegment / tile, 1, kLongestSum) * fold;
  segments = chunk_count(rows, per_segment);
}

void Across::add_segment(std::int64_t group, std::int64_t column, std::int64_t segment, float* sum) const {
  const std::int64_t columns = std::min(tile, width - column);
  std::fill_n(sum, columns, static_cast<float>(start(loop.kind)));
  const std::int64_t base = loop.group_offset(group, 0) + column * loop.stride;
  const std::int64_t begin = segment * per_segment, end = std::min(begin + per_segment, rows);
  const Nest& nest = loop.rows;
  const int inner = nest.rank - 1;
  const std::int64_t row_stride = nest.stride[inner][0];
  if (fold > 1) {
    const std::int64_t whole = (end - begin) / fold, done = begin + whole * fold;
    RowAdder(loop, columns, sum).add(base + begin * row_stride, whole, fold * row_stride);
    RowAdder(loop, loop.width, sum).add(base + done * row_stride, end - done, row_stride);
    return;
  }
  RowAdder adder(loop, columns, sum);
  for (std::int64_t row = begin; row < end;) {  // in runs of rows at equal distances
    const std::int64_t count = std::min(nest.size[inner] - row % nest.size[inner], end - row);
    adder.add(base + loop.row_offset(row), count, row_stride);
    row += count;
  }
}

void Across::finish(std::int64_t group, std::int64_t first, std::int64_t count, const float* partial,
                    std::int64_t parts) const {
  double total[kColumns];
  std::fill_n(total, count, start(loop.kind));
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t i = 0; i < count; ++i)
      total[i] = combine(loop.kind, total[i], partial[part * loop.width + i]);
  const std::int64_t base = loop.group_offset(group, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool overflow = loop.kind == Reduction::sum && !std::isfinite(total[i]);
    loop.store(base + (first + i) * loop.result_stride,
               overflow ? in_double(group, first + i, total[i]) : total[i]);
  }
}

double Across::in_double(std::int64_t group, std::int64_t column, double total) const {
  const std::int64_t base = loop.group_offset(group, 0) + column * loop.stride;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    float value;
    decode_row(loop.dtype, loop.at(base + loop.row_offset(row)), &value, 1);
    if (!std::isfinite(value)) return total;
    sum += double{value};
  }
  return sum;
}

}  // namespace

void reduce_across(const ReduceLoop& loop) {
  const Across across(loop);
  const std::int64_t groups = loop.groups.count(), tiles = across.tiles, segments = across.segments;
  const std::int64_t elements = std::min(across.per_segment, across.rows) * loop.width / tiles + 1;
  if (segments == 1) {
    for_each_segment(groups, tiles, elements, [&](std::int64_t group, std::int64_t tile) {
      const std::int64_t column = tile * across.tile;
      float sum[kColumns];
      across.add_segment(group, column, 0, sum);
      across.finish(group, column, std::min(across.tile, loop.width - column), sum, across.fold);
    });
    return;
  }

  const Tensor scratch({groups * segments * across.width}, float32);
  float* partial = static_cast<float*>(scratch.raw_mutable());
  for_each_segment(groups * tiles, segments, elements, [&](std::int64_t piece, std::int64_t segment) {
    const std::int64_t group = piece / tiles, column = piece % tiles * across.tile;
    across.add_segment(group, column, segment,
                       partial + (group * segments + segment) * across.width + column);
  });
  const std::int64_t pieces = chunk_count(loop.width, kColumns);
  for_each_segment(groups, pieces, segments * across.width, [&](std::int64_t group, std::int64_t piece) {
    const std::int64_t first = piece * kColumns;
    across.finish(group, first, std::min(kColumns, loop.width - first),
                  partial + group * segments * across.width + first, segments * across.fold);
  });
}

}  // namespace halftone::cpu
