// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halftone/error.h"
#include "halftone/parallel.h"
#include "halftone/random.h"
#include "halftone/tensor.h"

namespace halftone {
namespace {

constexpr std::int64_t kTile = 1024;  // floats that stay in the first-level cache

// Fills a new tensor from a function of the element's index.
template <class F>
Tensor generate(const Shape& shape, DType dtype, const F& value) {
  Tensor result(shape, dtype);
  auto* codes = static_cast<std::byte*>(result.raw_mutable());
  parallel_for(result.count(), 16 * kTile, [&](std::int64_t begin, std::int64_t end) {
    double tile[kTile];
    for (std::int64_t at = begin; at < end; at += kTile) {
      const std::int64_t n = std::min(kTile, end - at);
      for (std::int64_t i = 0; i < n; ++i) tile[i] = value(at + i);
      encode_row(dtype, tile, codes + at * dtype.bytes(), n);
    }
  });
  return result;
}

}  // namespace

Tensor empty(const Shape& shape, DType dtype) { return Tensor(shape, dtype); }

Tensor zeros(const Shape& shape, DType dtype) {
  if (!dtype.format().has_zero)
    throw DTypeError("zeros", std::string(dtype.name()), "a format that has a zero", "ones");
  Tensor result(shape, dtype);
  if (result.bytes() > 0) std::memset(result.raw_mutable(), 0, static_cast<std::size_t>(result.bytes()));
  return result;
}

Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }

Tensor full(const Shape& shape, double value, DType dtype) {
  return generate(shape, dtype, [value](std::int64_t) { return value; });
}

Tensor from_values(std::span<const double> values, const Shape& shape, DType dtype) {
  if (shape.count() != static_cast<std::int64_t>(values.size()))
    throw ShapeError("from_values", fmt::format("{} values for shape {}", values.size(), to_string(shape)),
                     "as many values as elements");
  return generate(shape, dtype, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
}

Tensor from_values(std::initializer_list<double> values, DType dtype) {
  return from_values(std::span(values.begin(), values.size()), {static_cast<std::int64_t>(values.size())},
                     dtype);
}

Tensor random_uniform(const Shape& shape, double low, double high, std::uint64_t seed, std::uint64_t stream,
                      DType dtype) {
  return generate(shape, dtype, [=](std::int64_t i) {
    return low + (high - low) * double{random_uniform_at(seed, stream, static_cast<std::uint64_t>(i))};
  });
}

Tensor random_normal(const Shape& shape, std::uint64_t seed, std::uint64_t stream, DType dtype) {
  return generate(shape, dtype, [=](std::int64_t i) {
    return double{random_normal_at(seed, stream, static_cast<std::uint64_t>(i))};
  });
}

}  // namespace halftone
