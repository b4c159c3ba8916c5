// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/join.h"
#include "halftone/tensor.h"

namespace halftone {

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(static_cast<int>(sizes.size())) {
  if (sizes.size() > kMaxRank)
    throw ShapeError("shape", fmt::format("{} dimensions", sizes.size()),
                     fmt::format("at most {}", kMaxRank));
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

std::int64_t Shape::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : *this)
    if (__builtin_mul_overflow(product, size, &product))
      throw ShapeError("shape", to_string(*this), "fewer than 2^63 elements");
  return product;
}

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::string to_string(const Shape& shape) {
  return fmt::format("({})", join(shape, [](std::int64_t size) { return std::to_string(size); }));
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    // No element is reached by such a stride: a tensor of that shape has a size of 0.
    if (__builtin_mul_overflow(step, shape[axis], &step)) step = 0;
  }
  return strides;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int lead = longer.rank() - shorter.rank();
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    const std::int64_t x = longer[lead + axis], y = shorter[axis];
    if (x != y && x != 1 && y != 1)
      throw ShapeError("broadcast", to_string(a) + " with " + to_string(b),
                       "sizes that are equal or 1, from the last axis on");
    result[lead + axis] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace halftone
