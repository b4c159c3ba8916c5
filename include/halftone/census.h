// SPDX-License-Identifier: Apache-2.0
//
// What a conversion did to the values, counted. Every value is in one class, so the classes add up to the
// count; the histogram says at which powers of two the values lay before.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "halftone/format.h"

namespace halftone {

struct Census {
  std::int64_t exact = 0;         // the value itself, infinities and zeros included
  std::int64_t rounded = 0;       // to a normal number
  std::int64_t to_subnormal = 0;  // rounded, and the result is subnormal
  std::int64_t to_zero = 0;       // not zero before
  std::int64_t saturated = 0;  // beyond the largest or lowest finite value (infinities too) and stayed there
  std::int64_t to_infinity = 0;  // finite before
  std::int64_t to_nan = 0;       // a number before
  std::int64_t nan = 0;          // NaN before, whatever it became

  // How many values have floor(log2 |x|) = exponent, from that of the smallest double to the largest. What is
  // beyond, in a format that is wider, counts at that end.
  static constexpr int kLowest = -1074, kHighest = 1023;
  std::array<std::int64_t, kHighest - kLowest + 1> exponents{};
  std::int64_t& at(int exponent) { return exponents[static_cast<std::size_t>(exponent - kLowest)]; }
  std::int64_t at(int exponent) const { return exponents[static_cast<std::size_t>(exponent - kLowest)]; }

  std::int64_t count() const {
    return exact + rounded + to_subnormal + to_zero + saturated + to_infinity + to_nan + nan;
  }
  Census& operator+=(const Census& other);
  friend bool operator==(const Census&, const Census&) = default;
};

// Adds one value and the code that it became, or a row of them (vectorised for float). The exact one is for
// sources that reach beyond double: 64-bit integers and wide P3109 formats.
void count_conversion(const Format& format, double value, std::uint64_t code, Census& census);
void count_conversion(const Format& format, const Exact& value, std::uint64_t code, Census& census);
void count_row(DType dtype, const float* values, const void* codes, std::int64_t count, Census& census);
void count_row(DType dtype, const double* values, const void* codes, std::int64_t count, Census& census);

// "1,000 values: 12 exact, 980 rounded, 8 to zero" (classes that are empty are left out).
std::string describe(const Census& census);

}  // namespace halftone
