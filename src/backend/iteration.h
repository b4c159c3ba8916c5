// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of several operands lie: a nest of loops with one size and, per operand, one stride (in
// elements) for each dimension. Broadcasting is a stride of 0. Loops that do not care for the order of the
// elements reorder and merge dimensions first, so that most calls become one long run.
#pragma once

#include <cstdint>

#include "halftone/formula.h"
#include "halftone/tensor.h"

namespace halftone {

struct Nest {
  static constexpr int kOperands = 2 * kMaxOperands;

  explicit Nest(const Shape& shape);

  // Adds an operand, aligned at the last dimension; its sizes must be the nest's or 1.
  void add(const Shape& sizes, const Shape& strides);
  void add(const Tensor& tensor) { add(tensor.shape(), tensor.strides()); }

  // Sorts the dimensions so that the strides of that operand fall from the outermost to the innermost.
  void order_by(int operand);
  // Merges neighbours that are one run for every operand and drops sizes of 1. At least one dimension stays;
  // where every size is 1, it has stride 1 for every operand.
  void coalesce();
  void swap_dimensions(int a, int b);

  std::int64_t count() const { return count(rank); }
  std::int64_t count(int dimensions) const;  // of the outermost dimensions

  // The offset, per operand, of position number `index` of the outermost `dimensions` dimensions.
  void locate(std::int64_t index, int dimensions, std::int64_t* offsets) const {
    for (int k = 0; k < operands; ++k) offsets[k] = 0;
    for (int d = dimensions - 1; d >= 0; --d) {
      const std::int64_t position = d == 0 ? index : index % size[d];
      if (d != 0) index /= size[d];
      for (int k = 0; k < operands; ++k) offsets[k] += position * stride[d][k];
    }
  }

  // The same for one operand.
  std::int64_t offset(std::int64_t index, int dimensions, int operand) const {
    std::int64_t sum = 0;
    for (int d = dimensions - 1; d > 0; --d) {
      sum += index % size[d] * stride[d][operand];
      index /= size[d];
    }
    return dimensions == 0 ? 0 : sum + index * stride[0][operand];
  }

  // Indexed by dimension (then operand). Plain arrays: not every entry is in use, and filling 12 operands'
  // worth would cost as much as a small call.
  int rank = 0;
  int operands = 0;
  std::int64_t size[kMaxRank];
  std::int64_t stride[kMaxRank][kOperands];
};

}  // namespace halftone
