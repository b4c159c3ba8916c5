// SPDX-License-Identifier: Apache-2.0
//
// Tensors for the tests of backends. Values are quarters of small whole numbers, so that sums and products of
// them are exact in float32: whatever the order of the arithmetic, every backend must give the same bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/backend.h"
#include "halftone/parallel.h"

namespace halftone::testing {

inline const DType kFloating[] = {float32, bfloat16, float16, float8_e4m3fn, float8_e5m2};

// The same elements may lie in memory in these ways.
enum class Layout { contiguous, transposed, gaps, offset };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::transposed, Layout::gaps, Layout::offset};

inline Tensor in_layout(const Shape& shape, DType dtype, Layout layout) {
  const int rank = shape.rank();
  Shape strides = contiguous_strides(shape);
  std::int64_t room = shape.count(), first = 0, step = 1;
  switch (layout) {
    case Layout::contiguous:
      break;
    case Layout::transposed:
      for (int axis = 0; axis < rank; ++axis) strides[axis] = step, step *= shape[axis];
      break;
    case Layout::gaps:
      for (int axis = 0; axis < rank; ++axis) strides[axis] *= 3;
      room *= 3, first = 1;
      break;
    case Layout::offset:
      room += 3, first = 3;
      break;
  }
  const Tensor base = empty({std::max<std::int64_t>(room, 1)}, dtype);  // E8M0 has no zeros
  std::memset(base.raw_mutable(), 0, static_cast<std::size_t>(base.bytes()));
  return base.view(shape, strides, first);
}

inline void assign(const Tensor& tensor, const std::vector<double>& values) {
  find_backend("reference").copy(from_values(values, tensor.shape(), float64), tensor);
}

// Quarters in [-2, 2], or whole numbers in [0, 100) for an integer format.
inline Tensor quarters(const Shape& shape, DType dtype, std::uint64_t seed,
                       Layout layout = Layout::contiguous) {
  std::vector<double> values = random_uniform(shape, 0, 1, seed, 0, float64).to_vector();
  for (double& value : values)
    value = dtype.is_floating() ? std::floor(value * 17) / 4 - 2 : std::floor(value * 100);
  const Tensor result = in_layout(shape, dtype, layout);
  assign(result, values);
  return result;
}

// A tensor of its own with the same geometry and the same bytes, gaps included.
inline Tensor clone(const Tensor& tensor) {
  auto storage = std::make_shared<Storage>(tensor.storage()->bytes);
  std::memcpy(storage->data, tensor.storage()->data, static_cast<std::size_t>(storage->bytes));
  return tensor.with_storage(storage, tensor.dtype());
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.storage()->bytes == b.storage()->bytes &&
         std::memcmp(a.storage()->data, b.storage()->data, static_cast<std::size_t>(a.storage()->bytes)) == 0;
}

// The whole storage is compared: a write beside the tensor is an error too.
inline void expect_same(const Tensor& actual, const Tensor& expected, const std::string& what) {
  EXPECT_TRUE(same_bytes(actual, expected))
      << what << "\nactual   " << to_string(actual) << "\nexpected " << to_string(expected);
}

// Runs `compute`, which returns a new tensor, at every SIMD level and with one and two threads.
template <class Compute>
void expect_the_same_bits_everywhere(const Compute& compute, const std::string& what) {
  const SimdLevel level = simd_level();
  const int threads = thread_count();
  const Tensor expected = compute();
  for (const SimdLevel simd : {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512})
    for (const int count : {1, 2}) {
      set_simd_level(simd);
      set_thread_count(count);
      expect_same(compute(), expected,
                  what + " at SIMD level " + std::to_string(static_cast<int>(simd)) + ", threads " +
                      std::to_string(count));
    }
  set_simd_level(level);
  set_thread_count(threads);
}

}  // namespace halftone::testing
