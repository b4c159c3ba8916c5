// SPDX-License-Identifier: Apache-2.0
//
// What the tests of rounding without codes share.
#pragma once

#include <gtest/gtest.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "format/rows_simd.h"
#include "halftone/conversion.h"

namespace halftone::rounding_support {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

inline std::vector<Conversion> conversions() {
  std::vector<Conversion> all{{}};
  for (int rounding = 0; rounding <= static_cast<int>(Rounding::stochastic); ++rounding)
    all.push_back({static_cast<Rounding>(rounding), Overflow::saturate});
  for (const int bits : {1, 8, 31, 32})
    all.push_back({.rounding = Rounding::stochastic, .overflow = Overflow::saturate, .random_bits = bits});
  all.push_back({.overflow = Overflow::saturate, .subnormals = Subnormals::flush});
  all.push_back({.overflow = Overflow::saturate, .negative_zero = NegativeZero::drop});
  return all;
}

// Bit for bit; of NaNs only that they are.
inline void expect_same(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << i << ": " << std::hexfloat << values[i] << " instead of " << expected[i];
  }
}

#if defined(__SSE2__)
// rounded() gives the same values whatever the processor flushes and however it rounds.
template <class Rounded>
void expect_the_same_in_any_state(const Rounded& rounded) {
  const std::vector<float> expected = rounded();
  const unsigned before = _mm_getcsr();
  for (const unsigned state :
       {0x8040u /* flush */, 0x2000u /* down */, 0x4000u /* up */, 0x6000u /* to zero */}) {
    _mm_setcsr((before & ~0x6000u) | state);
    const std::vector<float> then = rounded();
    _mm_setcsr(before);
    expect_same(then, expected);
  }
}
#endif

template <class Body>
void on_each_target(const Body& body) {
  for (const std::int64_t target : simd::targets()) {
    SCOPED_TRACE(simd::target_name(target));
    simd::use_target(target);
    body();
    simd::use_target(0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace halftone::rounding_support
