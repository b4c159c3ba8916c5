// SPDX-License-Identifier: Apache-2.0
//
// What the codec is tested against, sharing nothing with it. Decoding: the definition of the formats, in
// divisions and remainders. Encoding to nearest: the table of all values in ascending order; a value belongs
// to the nearest, and in the middle between two to the one with the even code. Every midpoint is exact in
// double. Other roundings: exact_oracle.h.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "halftone/conversion.h"

namespace halftone {

inline void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

namespace oracle {

// Rows a program may bring along: each combination of special values, with and without fractions, sign and
// zero, narrow and odd widths, ranges beyond float32, and a second spelling of float16.
inline constexpr Format kUserRows[] = {
    {"e6m9fn", 6, 9, 31, Specials::nan_only},
    {"e7m8finite", 7, 8, 63, Specials::none},
    {"e5m0", 5, 0, 15, Specials::ieee},
    {"e4m0finite", 4, 0, 7, Specials::none},
    {"e8m6", 8, 6, 127, Specials::ieee},
    {"e8m7fn", 8, 7, 127, Specials::nan_only},
    {"e9m6", 9, 6, 255, Specials::ieee},
    {"e8m7_biased", 8, 7, 140, Specials::ieee},
    {"e3m3shifted", 3, 3, -20, Specials::ieee},
    {"e4m3without_zero", 4, 3, 7, Specials::nan_only, true, false},
    {"ue4m3without_zero", 4, 3, 7, Specials::none, false, false},
    {"half", 5, 10, 15, Specials::ieee},
};

inline constexpr std::string_view kNames[] = {
    "e5m7",          "e4m3b9fn",    "ue5m3",       "ue8m0",       "ue4m3fn",     "e1m2",
    "e1m2fn",        "e2m5fnuz",    "e4m11",       "e5m2finite",  "e8m7fnuz",    "binary8p4se",
    "binary8p3se",   "binary8p3sf", "binary8p1ue", "binary8p1uf", "binary8p1se", "binary6p4sf",
    "binary4p2sf",   "binary8p8ue", "binary3p1sf", "binary3p2se", "int4",        "int8",
    "int2",          "uint4",       "uint1",       "fixed4m3",    "fixed16m8",   "binary16p8se",
    "binary16p11se", "int16",       "e5m12",       "e8m14",       "e8m22",       "uint16",
    "uint40",        "int24",       "e11m40",      "ue11m52"};

// Every row of at most `bits` bits: of the table, of a program, by name.
inline std::vector<Format> rows(int bits = 16) {
  std::vector<Format> rows;
  const auto add = [&](const Format& row) {
    if (row.bits() <= bits) rows.push_back(row);
  };
  for (const Format& row : kFormats) add(row);
  for (const Format& row : kUserRows) add(row);
  for (std::string_view name : kNames) add(*parse_format(name));
  return rows;
}

// What a code means: (-1)^negative * n * 2^exponent where it is finite.
struct Meaning {
  enum class Kind { finite, infinity, nan } kind;
  bool negative;
  std::uint64_t n;
  int exponent;

  bool is_finite() const { return kind == Kind::finite; }
  double magnitude() const { return std::ldexp(static_cast<double>(n), exponent); }
};

inline Meaning meaning_of(const Format& f, std::uint64_t code) {
  using Kind = Meaning::Kind;
  const std::uint64_t fractions = std::uint64_t{1} << f.mantissa_bits;
  const std::uint64_t exponents = std::uint64_t{1} << f.exponent_bits;
  const std::uint64_t fraction = code % fractions;
  const std::uint64_t exponent = code / fractions % exponents;
  const bool negative = f.is_signed && code / fractions / exponents % 2 != 0;
  const bool last_exponent = exponent == exponents - 1, last = last_exponent && fraction == fractions - 1;
  const bool one_before_last = exponent * fractions + fraction == exponents * fractions - 2;
  const bool is_zero = exponent == 0 && fraction == 0;
  switch (f.specials) {
    case Specials::integer:
      return {Kind::finite, negative, negative ? fractions - fraction : fraction, -f.bias};
    case Specials::ieee:
      if (last_exponent) return {fraction == 0 ? Kind::infinity : Kind::nan, negative, 0, 0};
      break;
    case Specials::nan_only:
      if (last) return {Kind::nan, negative, 0, 0};
      break;
    case Specials::nan_zero:
      if (negative && is_zero) return {Kind::nan, negative, 0, 0};
      break;
    case Specials::extended:
      if (f.is_signed ? negative && is_zero : last) return {Kind::nan, negative, 0, 0};
      if (f.is_signed ? last : one_before_last) return {Kind::infinity, negative, 0, 0};
      break;
    case Specials::none:
      break;
  }
  if (exponent == 0 && f.has_zero) return {Kind::finite, negative, fraction, 1 - f.bias - f.mantissa_bits};
  return {Kind::finite, negative, fractions + fraction,
          static_cast<int>(exponent) - f.bias - f.mantissa_bits};
}

inline double value_of(const Format& f, std::uint64_t code) {
  const Meaning meaning = meaning_of(f, code);
  const double magnitude = meaning.is_finite() ? meaning.magnitude()
                           : meaning.kind == Meaning::Kind::infinity
                               ? std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::quiet_NaN();
  return std::copysign(magnitude, meaning.negative ? -1.0 : 1.0);
}

// Conversion to nearest even of a row of at most 16 bits whose values are doubles.
class Thresholds {
 public:
  // The magnitudes of one sign: codes[i] is right between middles[i - 1] and middles[i]; on middles[i] the
  // even one of i and i + 1.
  struct Side {
    std::vector<double> middles;
    std::vector<std::uint64_t> codes;
  };

  explicit Thresholds(const Format& f) : Thresholds(f, f.overflow) {}
  Thresholds(const Format& f, Overflow overflow) : format_(f), overflow_(overflow) {
    find_specials();
    Side& positive = sides_[0];
    for (std::uint64_t code = 0; code < end() && is_positive(code); ++code) {
      values_.push_back(meaning_of(f, code).magnitude());
      positive.codes.push_back(code);
    }
    // One value more, as if there were no end: beyond the middle to it, a value overflows.
    const std::uint64_t last = positive.codes.back();
    values_.push_back(
        std::ldexp(static_cast<double>(meaning_of(f, last).n + 1), meaning_of(f, last).exponent));
    for (std::size_t i = 0; i + 1 < values_.size(); ++i)
      positive.middles.push_back((values_[i] + values_[i + 1]) / 2);
    Side& negative = sides_[1];
    negative.middles = positive.middles;
    for (std::uint64_t code : positive.codes) negative.codes.push_back(negative_of(code));
    positive.codes.push_back(over(false));
    const bool reaches_further = f.specials == Specials::integer && f.is_signed;  // by one, and stays there
    negative.codes.push_back(reaches_further ? end() / 2 : over(true));
  }

  const Side& side(bool negative) const { return sides_[negative ? 1 : 0]; }
  const std::vector<double>& middles() const { return sides_[0].middles; }
  const std::vector<double>& values() const { return values_; }  // one more than there are
  std::uint64_t largest() const { return values_.size() - 2; }

  // Of a number that is neither NaN nor infinite; any type that compares exactly with a double.
  template <class Number>
  std::uint64_t code_of(const Number& magnitude, bool negative) const {
    if (magnitude == 0 && !format_.has_zero) return refused();
    const Side& s = side(negative);
    const auto middle = std::lower_bound(s.middles.begin(), s.middles.end(), magnitude,
                                         [](double m, const Number& x) { return m < x; });
    const auto i = static_cast<std::size_t>(middle - s.middles.begin());
    const bool is_tie = middle != s.middles.end() && *middle == magnitude;
    return s.codes[is_tie && i % 2 != 0 ? i + 1 : i];
  }

  // True if `code` is right for `value`; a NaN may be any NaN.
  bool accepts(double value, std::uint64_t code) const {
    if (std::isnan(value)) return nan_ ? is_nan(code) : code == 0;
    const bool negative = std::signbit(value);
    return same(code, std::isinf(value) ? of_infinity(negative) : code_of(std::fabs(value), negative));
  }
  bool same(std::uint64_t code, std::uint64_t expected) const {
    return code == expected || (is_nan(code) && is_nan(expected));
  }

  bool is_nan(std::uint64_t code) const { return meaning_of(format_, code).kind == Meaning::Kind::nan; }
  bool has_nan() const { return nan_.has_value(); }
  std::uint64_t of_infinity(bool negative) const {
    if (format_.specials == Specials::integer || (negative && !format_.is_signed))
      return side(negative).codes.back();
    return overflow_ == Overflow::saturate ? (negative ? negative_of(largest()) : largest())
                                           : special(negative);
  }

 private:
  std::uint64_t end() const { return std::uint64_t{1} << format_.bits(); }
  bool is_positive(std::uint64_t code) const {
    return meaning_of(format_, code).is_finite() && !meaning_of(format_, code).negative;
  }

  void find_specials() {
    for (std::uint64_t code = 0; code < end(); ++code) {
      const Meaning meaning = meaning_of(format_, code);
      if (meaning.kind == Meaning::Kind::nan && !nan_) nan_ = code;
      if (meaning.kind == Meaning::Kind::infinity) infinity_[meaning.negative ? 1 : 0] = code;
    }
  }

  // What stands for a negative number in a format that has none.
  std::uint64_t refused() const { return nan_ && overflow_ == Overflow::to_special ? *nan_ : 0; }

  std::uint64_t negative_of(std::uint64_t code) const {
    if (format_.specials == Specials::integer) return format_.is_signed ? (end() - code) % end() : 0;
    if (!format_.is_signed) return code == 0 && format_.has_zero ? 0 : refused();
    const std::uint64_t negative = end() / 2 + code;
    return code == 0 && is_nan(negative) ? 0 : negative;  // one zero
  }

  std::uint64_t special(bool negative) const {
    if (negative && !format_.is_signed) return refused();
    if (infinity_[negative ? 1 : 0]) return *infinity_[negative ? 1 : 0];
    if (!nan_) return negative ? negative_of(largest()) : largest();
    const std::uint64_t mirrored = *nan_ + end() / 2;  // a NaN of each sign, where there are two
    return negative && mirrored < end() && is_nan(mirrored) ? mirrored : *nan_;
  }

  std::uint64_t over(bool negative) const {
    if (format_.specials != Specials::integer && overflow_ == Overflow::to_special) return special(negative);
    return negative ? negative_of(largest()) : largest();
  }

  Format format_;
  Overflow overflow_;
  std::array<Side, 2> sides_;
  std::vector<double> values_;
  std::optional<std::uint64_t> nan_;
  std::array<std::optional<std::uint64_t>, 2> infinity_;
};

}  // namespace oracle
}  // namespace halftone
