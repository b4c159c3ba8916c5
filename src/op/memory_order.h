// SPDX-License-Identifier: Apache-2.0
//
// How elements lie in memory: results that lie as their operand does, so that what reads them next (a linear
// layer, behind a transposition of heads) finds rows where it wants them; copies in row-major order; rows.
#pragma once

#include "halftone/backend.h"
#include "halftone/tensor.h"

namespace halftone {

// Uninitialised, of x's shape, without gaps, its axes in the order of x's strides but for the last, which is
// innermost.
Tensor in_order_of(const Tensor& x, DType dtype);

// The same elements in row-major order without gaps: a copy of x, and x itself if it lies that way already.
Tensor copied(const Backend& backend, const Tensor& x);
Tensor contiguous(const Backend& backend, const Tensor& x);

// The product of all sizes but the last, which may be 0.
std::int64_t row_count(const Shape& shape);

// A contiguous tensor under another shape of as many elements; and as a matrix, all axes but the last joined.
Tensor reshaped(const Tensor& x, const Shape& shape);
Tensor matrix_of(const Tensor& x);

}  // namespace halftone
