// SPDX-License-Identifier: Apache-2.0
//
// The row arithmetic of attention on a tile of scores in the first or second cache: what lies between its
// matrix products. Everything is float32; P and dS are rounded once, for the product that reads them.
#pragma once

#include <cstdint>

#include "halftone/tensor.h"

namespace halftone::cpu {

// Scores of some queries (rows) against some keys (columns). A row sees its first visible[row] - first_key
// columns, if that is positive; others hold anything.
struct ScoreTile {
  float* scores;  // overwritten
  std::int64_t rows, columns, stride;  // stride: a multiple of 16, at least columns
  const std::int32_t* visible;
  std::int64_t first_key;
  float factor;
};

// What a pass over several tiles carries along, a value per row.
struct RunningSoftmax {
  float* peak;        // largest score so far; -infinity before the first tile
  float* total;       // sum of exp(score - peak)
  float* correction;  // written: what everything accumulated before this tile has to be multiplied by
};

// p = exp(factor s - peak), 0 where a row does not see; not divided by the total yet.
void softmax_tile(const ScoreTile& tile, const RunningSoftmax& running, DType format, DType rounded, void* p);

// p = exp(factor s - log_total), ds = factor p (dp - dot), 0 where a row does not see.
void softmax_gradient_tile(const ScoreTile& tile, const float* dp, const float* log_total, const float* dot,
                           DType format, DType rounded, void* p, void* ds);

// Rows of `width` numbers between floats in one run and memory of any format.
void load_rows(DType dtype, const void* from, std::int64_t stride, std::int64_t rows, std::int64_t width,
               float* to);
void store_rows(const float* from, std::int64_t rows, std::int64_t width, DType dtype, void* to,
                std::int64_t stride);

// Every element of row i times factors[i].
void scale_rows(float* x, std::int64_t rows, std::int64_t width, const float* factors);
// dots[i] = <a_i, b_i>.
void dot_rows(const float* a, const float* b, std::int64_t rows, std::int64_t width, float* dots);

}  // namespace halftone::cpu
