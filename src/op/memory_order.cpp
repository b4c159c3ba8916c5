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

}  // namespace halftone
