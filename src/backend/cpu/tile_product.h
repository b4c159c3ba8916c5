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
std::shared_ptr<const CompiledPrimitive> tile_product(const TileProduct& product);

}  // namespace halftone::cpu
