// SPDX-License-Identifier: Apache-2.0
//
// The product of two tiles: one oneDNN primitive, run by one thread, on operands in memory at any plain
// strides. What the loops of matmul and attention are made of.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/onednn.h"

namespace halftone::cpu {

// A matrix as oneDNN takes it: one of the strides is 1 and the other at least the length of a line.
struct MatrixStrides {
  std::int64_t row, column;
};

// c (rows, columns) = a (rows, inner) b (inner, columns) (+ bias) (+ c if accumulate). a and b have the
// format `format`, bfloat16 or float32, c the format `result`, one of the same, and lines of stride c_row.
struct TileProduct {
  DType format, result;
  std::int64_t rows, columns, inner;
  MatrixStrides a, b;
  std::int64_t c_row;
  bool bias = false, accumulate = false;
};

// Compiled on first use; arguments are DNNL_ARG_SRC, _WEIGHTS, _DST and, if there is one, _BIAS.
std::shared_ptr<const CompiledPrimitive> compiled_product(const TileProduct& product);

// A matrix where it lies.
struct TileOperand {
  const void* data;
  std::int64_t row, column;

  TileOperand transposed() const { return {data, column, row}; }
};

// c = a b (+ c if accumulate), at once and on the calling thread, for kernels that cut their work into tiles
// themselves: a (rows, inner), b (inner, columns), both in `format`; c float32, its rows `stride` elements
// apart.
void tile_product(DType format, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                  const TileOperand& a, const TileOperand& b, float* c, std::int64_t stride, bool accumulate);

}  // namespace halftone::cpu
