// SPDX-License-Identifier: Apache-2.0
//
// A number as a code of a format: its value, its name in the zoo of values, and what lies next to it. All
// exact, so that formats which reach beyond double are shown as well as any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "halftone/conversion.h"

namespace halftone::cli {

struct Number {
  DType dtype;
  std::uint64_t code;

  const Format& format() const { return dtype.format(); }
  Exact value() const { return decode_exact(format(), code); }
  std::string hex() const;  // 0x3c00, as many digits as the format has
};

enum class NumberClass : std::uint8_t {
  normal,
  subnormal,
  zero,
  negative_zero,
  infinity,
  nan,
  integer,
  fixed_point
};
NumberClass class_of(const Number& x);
std::string_view name(NumberClass of);  // "negative zero"

// The next number up (+1) or down (-1) in the order of the values; none past the ends and around NaN.
std::optional<Number> neighbour(const Number& x, int step);

// k, where the two values, which are neighbours, are 2^k apart. Nothing where one is infinite.
std::optional<int> spacing_exponent(const Number& x, const Number& other);

// -1, 0 or 1 as |a| is below, at or above |b|. NaN has no place here.
int compare_magnitudes(const Exact& a, const Exact& b);
bool same_value(const Exact& a, const Exact& b);  // -0 and 0 are the same, NaN is none

// floor(log2 |x|) of a finite number that is not zero.
int top_exponent(const Exact& x);

Exact largest(const Format& format);   // finite
Exact smallest(const Format& format);  // positive
Exact smallest_normal(const Format& format);

// True if every value of the format is a value of the other kind: of a significand of so many bits whose last
// bit is 2^least or more and whose first is 2^most or less.
bool is_within(const Format& format, int precision, int least, int most);
inline bool is_within_float(const Format& format) { return is_within(format, 24, -149, 127); }
inline bool is_within_double(const Format& format) { return is_within(format, 53, -1074, 1023); }

}  // namespace halftone::cli
