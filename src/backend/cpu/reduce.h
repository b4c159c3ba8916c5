// SPDX-License-Identifier: Apache-2.0
//
// A reduction, made ready for one of two loops. Dimensions are ordered by x's strides, so that memory is read
// in order, and merged. What remains is groups (the outer dimensions that are kept) of rows (the outer ones
// that are reduced) of the innermost dimension, which is either reduced itself ("along") or kept ("across").
//
// Both loops cut the work into segments of fixed size. Each yields float32 partial results, which are
// combined in double and in order: laws 2 and 9.
#pragma once

#include <algorithm>

#include "backend/cpu/tile.h"
#include "backend/iteration.h"
#include "halftone/backend.h"
#include "halftone/parallel.h"

namespace halftone::cpu {

inline constexpr std::int64_t kSegment = 65536;  // elements, about

struct ReduceLoop {
  Reduction kind;
  DType dtype;  // of x
  const void* data;
  float* result;  // row-major, in the shape of y
  double scale;
  bool accumulate;

  Nest groups, rows;                                      // operand 0: x; operand 1: the result
  std::int64_t width = 1, stride = 1, result_stride = 0;  // of the innermost dimension

  const void* at(std::int64_t offset) const { return advance(data, dtype, offset); }
  void store(std::int64_t offset, double total) const {
    if (kind == Reduction::sum) total = scale * total + (accumulate ? result[offset] : 0);
    result[offset] = static_cast<float>(total);
  }
  std::int64_t group_offset(std::int64_t group, int operand) const {
    return groups.offset(group, groups.rank, operand);
  }
  std::int64_t row_offset(std::int64_t row) const { return rows.offset(row, rows.rank, 0); }
};

void reduce_along(const ReduceLoop& loop);
void reduce_across(const ReduceLoop& loop);

// Calls body(group, segment) in parallel, several at a time if they have few elements.
template <class Body>
void for_each_segment(std::int64_t groups, std::int64_t segments, std::int64_t elements, const Body& body) {
  parallel_for(groups * segments, std::max<std::int64_t>(kSegment / elements, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 std::int64_t group = begin / segments, segment = begin % segments;
                 for (std::int64_t i = begin; i < end; ++i) {
                   body(group, segment);
                   if (++segment == segments) segment = 0, ++group;
                 }
               });
}

}  // namespace halftone::cpu
