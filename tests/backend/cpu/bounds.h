// SPDX-License-Identifier: Apache-2.0
//
// What the tests of contractions share: tensors of random values, and how far a sum of products, accumulated
// in float32 in any order and rounded once, may be from the exact one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/backend.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::test {

inline constexpr double kUnit = 0x1p-24;  // unit roundoff of float32

inline const std::vector<DType>& contraction_formats() {
  static const std::vector<DType> formats{float32, bfloat16, float16, float8_e4m3fn, float8_e5m2};
  return formats;
}

inline Tensor uniform(const Shape& shape, DType dtype, std::uint64_t seed, double low = -1, double high = 1) {
  return random_uniform(shape, low, high, seed, streams::example, dtype);
}

// An exact sum and the sum of the magnitudes of its terms.
struct Sum {
  double value = 0, magnitude = 0;
  int terms = 0;
  void add(double term) { value += term, magnitude += std::abs(term), ++terms; }

  // |float32 sum - value| <= terms u / (1 - terms u) magnitude, and then one rounding into the format.
  double bound(DType dtype) const {
    const double n = (terms + 1) * kUnit, error = n / (1 - n) * magnitude;
    return error + epsilon(dtype.format()) / 2 * (std::abs(value) + error) +
           min_subnormal(dtype.format()) / 2;
  }
};

inline void expect_sums(const Tensor& result, const std::vector<Sum>& sums, const std::string& what) {
  const std::vector<double> values = result.to_vector();
  ASSERT_EQ(values.size(), sums.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_LE(std::abs(values[i] - sums[i].value), sums[i].bound(result.dtype()))
        << what << ", element " << i << ": " << values[i] << " for " << sums[i].value;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())) == 0;
}

// Restores the number of threads.
class Threads {
 public:
  Threads() : count_(thread_count()) {}
  ~Threads() { set_thread_count(count_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int count_;
};

}  // namespace halftone::test
