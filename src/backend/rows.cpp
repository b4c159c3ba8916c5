// SPDX-License-Identifier: Apache-2.0
#include "backend/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "halftone/error.h"

namespace halftone {

Nest rows_of(std::span<const Tensor> in, std::span<const Tensor> out) {
  assert(!out.empty() && in.size() <= kMaxOperands && out.size() <= kMaxOperands);
  Nest nest(leading(out[0].shape(), 1));
  for (const std::span<const Tensor> operands : {in, out}) {
    for (const Tensor& x : operands) {
      const Shape sizes = leading(x.shape(), 1);
      if (sizes.count() == 1)
        nest.add(Shape(), Shape());
      else
        nest.add(sizes, leading(x.strides(), 1));
    }
  }
  return nest;
}

void check_indices(const char* loop, const Tensor& indices, std::int64_t count) {
  assert(indices.rank() == 1 && indices.dtype() == int32);
  const auto* values = static_cast<const std::int32_t*>(indices.raw());
  const std::int64_t stride = indices.strides()[0];
  for (std::int64_t i = 0; i < indices.count(); ++i)
    if (values[i * stride] < 0 || values[i * stride] >= count)
      throw ValueError(loop, fmt::format("index {} at position {}", values[i * stride], i),
                       count == 0 ? "no index: the table is empty" : fmt::format("0 to {}", count - 1));
}

}  // namespace halftone
