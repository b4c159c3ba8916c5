// SPDX-License-Identifier: Apache-2.0
//
// The product of two small matrices on the calling thread, for kernels that cut their work into tiles
// themselves.
#pragma once

#include "halftone/tensor.h"

namespace halftone::cpu {

// A matrix where it lies: one of the strides (in elements) is 1, the other at least the length of a line.
struct TileOperand {
  const void* data;
  std::int64_t row, column;

  TileOperand transposed() const { return {data, column, row}; }
};

// c = a b (+ c if accumulate): a (rows, inner), b (inner, columns), both in `format`, float32 or bfloat16;
// c float32, its rows `stride` elements apart.
void tile_product(DType format, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                  const TileOperand& a, const TileOperand& b, float* c, std::int64_t stride, bool accumulate);

}  // namespace halftone::cpu
