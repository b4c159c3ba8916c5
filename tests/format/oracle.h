// SPDX-License-Identifier: Apache-2.0
//
// What the codec is tested against, sharing nothing with it. Decoding: the definition of the formats with
// ldexp. Encoding: the table of all values in ascending order; a value belongs to the nearest, and in the
// middle between two to the one with the even code. Every midpoint is exact in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

#include "halftone/conversion.h"

namespace halftone {

inline void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

namespace oracle {

// Rows a program may bring along: each combination of special values, with and without fractions, narrow
// and odd widths, and a second spelling of float16.
inline constexpr Format kUserRows[] = {
    {"e5m7", 5, 7, 15, Specials::ieee},
    {"e6m9fn", 6, 9, 31, Specials::nan_only},
    {"e7m8finite", 7, 8, 63, Specials::none},
    {"e5m0", 5, 0, 15, Specials::ieee},
    {"e4m0finite", 4, 0, 7, Specials::none},
    {"e8m6", 8, 6, 127, Specials::ieee},
    {"e8m7fn", 8, 7, 127, Specials::nan_only},
    {"e3m3shifted", 3, 3, -20, Specials::ieee},
    {"half", 5, 10, 15, Specials::ieee},
};

// Every signed row of at most 16 bits with a zero, those of the table first.
inline std::vector<Format> narrow_rows() {
  std::vector<Format> rows;
  for (const Format& row : kFormats)
    if (row.is_signed && row.has_zero && row.specials != Specials::integer && row.bits() <= 16) rows.push_back(row);
  rows.insert(rows.end(), std::begin(kUserRows), std::end(kUserRows));
  return rows;
}

inline double value_of(const Format& f, std::uint64_t code) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t fractions = std::uint64_t{1} << f.mantissa_bits;
  const std::uint64_t exponents = std::uint64_t{1} << f.exponent_bits;
  const std::uint64_t fraction = code % fractions;
  const std::uint64_t exponent = code / fractions % exponents;
  const bool negative = code / fractions / exponents % 2 != 0;
  if (f.specials == Specials::ieee && exponent == exponents - 1) {
    return fraction != 0 ? nan : negative ? -inf : inf;
  }
  if (f.specials == Specials::nan_only && exponent == exponents - 1 && fraction == fractions - 1) return nan;
  if (f.specials == Specials::nan_zero && negative && exponent == 0 && fraction == 0) return nan;
  const double significand = static_cast<double>(fraction + (exponent == 0 ? 0 : fractions));
  const int scale = std::max<int>(static_cast<int>(exponent), 1) - f.bias - f.mantissa_bits;
  return std::copysign(std::ldexp(significand, scale), negative ? -1.0 : 1.0);
}

class Thresholds {
 public:
  explicit Thresholds(const Format& f) : format_(f) {
    const std::uint64_t sign = std::uint64_t{1} << (f.bits() - 1);
    for (std::uint64_t code = 0; code < sign && std::isfinite(value_of(f, code)); ++code)
      values_.push_back(value_of(f, code));
    // One value more, as if the exponent had no end: beyond the middle to it, a value overflows.
    const auto last = values_.size() - 1;
    const auto exponent = static_cast<int>(last >> f.mantissa_bits);
    values_.push_back(values_[last] + std::ldexp(1.0, std::max(exponent, 1) - f.bias - f.mantissa_bits));
    for (std::size_t i = 0; i + 1 < values_.size(); ++i)
      middles_.push_back((values_[i] + values_[i + 1]) / 2);
  }

  const std::vector<double>& middles() const { return middles_; }
  const std::vector<double>& values() const { return values_; }
  std::uint64_t largest() const { return values_.size() - 2; }

  // True if `code` is right for `value`; a NaN may have any payload and, with `nan_zero`, has one code.
  bool accepts(double value, std::uint64_t code) const {
    if (std::isnan(value) && format_.specials == Specials::none) return code == 0;
    if (std::isnan(value)) return std::isnan(value_of(format_, code)) || (no_nan() && code == 0);
    const std::size_t above = static_cast<std::size_t>(
        std::lower_bound(middles_.begin(), middles_.end(), std::fabs(value)) - middles_.begin());
    // middles_[above - 1] < |value| <= middles_[above]
    std::size_t nearest = above;
    if (above < middles_.size() && middles_[above] == std::fabs(value) && above % 2 != 0) ++nearest;
    return code == with_sign(nearest, std::signbit(value));
  }

 private:
  bool no_nan() const { return format_.specials == Specials::ieee && format_.mantissa_bits == 0; }

  std::uint64_t with_sign(std::uint64_t magnitude, bool negative) const {
    const std::uint64_t sign = std::uint64_t{1} << (format_.bits() - 1);
    const bool over = magnitude > largest();
    switch (format_.specials) {
      case Specials::nan_zero:
        if (over) return sign;
        return magnitude == 0 || !negative ? magnitude : sign | magnitude;
      case Specials::none:
        magnitude = std::min(magnitude, largest());
        break;
      default:
        magnitude = std::min(magnitude, largest() + 1);  // infinity, or the one NaN, comes next
    }
    return (negative ? sign : 0) | magnitude;
  }

  Format format_;
  std::vector<double> values_, middles_;
};

}  // namespace oracle
}  // namespace halftone
