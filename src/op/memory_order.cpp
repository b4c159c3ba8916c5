// SPDX-License-Identifier: Apache-2.0
#include "op/memory_order.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace halftone {

Tensor in_order_of(const Tensor& x, DType dtype) {
  const Tensor result(x.shape(), dtype);
  std::array<int, kMaxRank> axes{};
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.begin() + std::max(x.rank() - 1, 0),
                   [&](int a, int b) { return x.strides()[a] > x.strides()[b]; });
  Shape strides = x.shape();
  std::int64_t step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const int axis = axes[static_cast<std::size_t>(i)];
    strides[axis] = step;
    step *= x.size(axis);
  }
  return result.view(x.shape(), strides, 0);
}

Tensor copied(const Backend& backend, const Tensor& x) {
  Tensor copy(x.shape(), x.dtype());
  backend.copy(x, copy);
  return copy;
}

Tensor contiguous(const Backend& backend, const Tensor& x) {
  return x.is_contiguous() ? x : copied(backend, x);
}

std::int64_t row_count(const Shape& shape) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows *= shape[axis];
  return rows;
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  return x.view(shape, contiguous_strides(shape), x.offset());
}

Tensor matrix_of(const Tensor& x) { return reshaped(x, {row_count(x.shape()), x.size(-1)}); }

}  // namespace halftone
