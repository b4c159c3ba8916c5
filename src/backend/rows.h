// SPDX-License-Identifier: Apache-2.0
//
// Tensors seen as rows: what the rowwise and gather loops of the backends share.
#pragma once

#include <algorithm>
#include <span>

#include "backend/iteration.h"

namespace halftone {

inline std::int64_t row_width(const Tensor& x) { return x.rank() == 0 ? 1 : x.size(-1); }
inline std::int64_t row_stride(const Tensor& x) { return x.rank() == 0 ? 1 : x.strides()[-1]; }

// All sizes, or strides, but the last `dropped`.
inline Shape leading(const Shape& shape, int dropped) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(std::max(shape.rank() - dropped, 0))));
}

// The nest over the rows of out[0]; its operands are the inputs, then the outputs.
Nest rows_of(std::span<const Tensor> in, std::span<const Tensor> out);

// Throws ValueError, naming the loop, for an index outside a table of `count` rows.
void check_indices(const char* loop, const Tensor& indices, std::int64_t count);

}  // namespace halftone
