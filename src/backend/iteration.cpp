// SPDX-License-Identifier: Apache-2.0
#include "backend/iteration.h"

#include <cassert>
#include <utility>

namespace halftone {

Nest::Nest(const Shape& shape) : rank(shape.rank()) {
  for (int d = 0; d < rank; ++d) size[d] = shape[d];
}

void Nest::add(const Shape& sizes, const Shape& strides) {
  assert(operands < kOperands && sizes.rank() <= rank);
  const int missing = rank - sizes.rank();
  for (int d = 0; d < rank; ++d) {
    const bool repeats = d < missing || sizes[d - missing] == 1;
    assert(repeats || sizes[d - missing] == size[d]);
    stride[d][operands] = repeats ? 0 : strides[d - missing];
  }
  ++operands;
}

void Nest::swap_dimensions(int a, int b) {
  std::swap(size[a], size[b]);
  for (int k = 0; k < operands; ++k) std::swap(stride[a][k], stride[b][k]);
}

void Nest::order_by(int operand) {
  // Insertion sort: stable, and there are at most kMaxRank dimensions, nearly always sorted already.
  for (int d = 1; d < rank; ++d)
    for (int e = d; e > 0 && stride[e - 1][operand] < stride[e][operand]; --e) swap_dimensions(e - 1, e);
}

void Nest::coalesce() {
  int kept = 0;
  for (int d = 0; d < rank; ++d) {
    if (size[d] == 1) continue;
    bool joins = kept > 0;
    for (int k = 0; joins && k < operands; ++k) joins = stride[kept - 1][k] == stride[d][k] * size[d];
    if (joins) {
      size[kept - 1] *= size[d];
      for (int k = 0; k < operands; ++k) stride[kept - 1][k] = stride[d][k];
    } else {
      size[kept] = size[d];
      for (int k = 0; k < operands; ++k) stride[kept][k] = stride[d][k];
      ++kept;
    }
  }
  if (kept == 0) {
    size[0] = 1;
    for (int k = 0; k < operands; ++k) stride[0][k] = 1;
    kept = 1;
  }
  rank = kept;
}

std::int64_t Nest::count(int dimensions) const {
  std::int64_t product = 1;
  for (int d = 0; d < dimensions; ++d) product *= size[d];
  return product;
}

}  // namespace halftone
