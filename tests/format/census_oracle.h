// SPDX-License-Identifier: Apache-2.0
//
// What census.h says of one value and its code, decided anew on rationals: a format may reach beyond double.
// And what the census is tested with.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "format/exact_oracle.h"
#include "halftone/census.h"

namespace halftone::oracle {

// A number of either sign; `infinity` stands above all others.
struct Signed {
  int infinity = 0;  // -1, 0, 1
  mpq_class value;
  friend bool operator==(const Signed& a, const Signed& b) {
    return a.infinity == b.infinity && a.value == b.value;
  }
  friend bool operator<(const Signed& a, const Signed& b) {
    return a.infinity != b.infinity ? a.infinity < b.infinity : a.value < b.value;
  }
};

inline Signed signed_of(const Meaning& x) {
  if (!x.is_finite()) return {x.negative ? -1 : 1, 0};
  const mpq_class magnitude = rational(x);
  return {0, x.negative ? mpq_class(-magnitude) : magnitude};
}

inline Signed signed_of(double x) {
  if (std::isinf(x)) return {x < 0 ? -1 : 1, 0};
  return {0, mpq_class(x)};
}

class CensusOracle {
 public:
  explicit CensusOracle(const Format& f) : format_(f) {
    for (std::uint64_t code = 0; f.bits() <= 16 && code < std::uint64_t{1} << f.bits(); ++code)
      take_end(meaning(code));
    if (f.bits() > 16)
      for (std::uint64_t code : {detail::max_code(f), detail::lowest_code(f)}) take_end(meaning(code));
    if (f.specials != Specials::integer && f.has_zero) least_normal_ = scaled(mpq_class(1), 1 - f.bias);
  }

  std::int64_t Census::*class_of(double value, std::uint64_t code) const {
    if (std::isnan(value)) return &Census::nan;
    const Meaning became = meaning(code);
    if (became.kind == Meaning::Kind::nan) return &Census::to_nan;
    const Signed before = signed_of(value), after = signed_of(became);
    if (before == after) return &Census::exact;
    if (after.infinity != 0) return &Census::to_infinity;
    if (largest_ < before || before < lowest_) return &Census::saturated;
    if (after.value == 0) return &Census::to_zero;
    return abs(after.value) < least_normal_ ? &Census::to_subnormal : &Census::rounded;
  }

  Census count(const std::vector<double>& values, const std::vector<std::uint64_t>& codes) const {
    Census census;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ++(census.*class_of(values[i], codes[i]));
      int exponent = 0;
      if (!std::isfinite(values[i]) || std::frexp(values[i], &exponent) == 0) continue;
      ++census.exponents.at(static_cast<std::size_t>(exponent - 1 + 1074));
    }
    return census;
  }

 private:
  Meaning meaning(std::uint64_t code) const {
    if (format_.mantissa_bits == 64) return {Meaning::Kind::finite, false, code, -format_.bias};
    return meaning_of(format_, code);
  }

  void take_end(const Meaning& meaning) {
    if (!meaning.is_finite()) return;
    const Signed value = signed_of(meaning);
    if (largest_ < value || !seen_) largest_ = value;
    if (value < lowest_ || !seen_) lowest_ = value;
    seen_ = true;
  }

  Format format_;
  bool seen_ = false;
  Signed largest_, lowest_;
  mpq_class least_normal_ = 0;
};

// Conversions that between them put values into every class.
inline std::vector<Conversion> census_conversions(const Format& f) {
  return {default_conversion(f),
          {.overflow = Overflow::to_special},
          {.overflow = Overflow::saturate, .missing_nan = MissingNan::largest},
          {.rounding = Rounding::toward_zero, .subnormals = Subnormals::flush},
          {.rounding = Rounding::toward_positive, .overflow = Overflow::keep_infinity},
          {.rounding = Rounding::stochastic, .negative_zero = NegativeZero::drop}};
}

// Values on both sides of every border of the row, between them, and what any row may meet.
template <class Real>
std::vector<Real> census_values(const Format& f, std::size_t count) {
  constexpr auto kInf = std::numeric_limits<Real>::infinity();
  std::vector<Real> values = {0,
                              kInf,
                              std::numeric_limits<Real>::quiet_NaN(),
                              std::numeric_limits<Real>::max(),
                              std::numeric_limits<Real>::min(),
                              std::numeric_limits<Real>::denorm_min(),
                              std::numeric_limits<Real>::min() / 2,
                              Real(0.3),
                              Real(0.5),
                              Real(1),
                              Real(255.5),
                              Real(0x1p31),
                              Real(0x1p63),
                              Real(0x1p64)};
  const double largest = max_finite(f), least = min_subnormal(f);
  for (double border :
       {largest, decode(f, detail::lowest_code(f)), min_normal(f), least, least / 2, largest * 1.01})
    for (auto x : {static_cast<Real>(border), static_cast<Real>(border * 1.25)})
      for (Real y : {x, std::nextafter(x, Real(0)), std::nextafter(x, kInf)}) values.push_back(y);
  std::mt19937_64 random(1);
  // Formats beyond double have neither: 0 and infinity.
  const int low = least > 0 ? std::max(std::ilogb(least) - 3, -1070) : -1070;
  const int high = std::isfinite(largest) ? std::min(std::ilogb(largest) + 2, 1023) : 1023;
  while (values.size() < count / 2) {
    const double significand = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
    values.push_back(
        static_cast<Real>(std::ldexp(significand, low + static_cast<int>(random() % 4096) % (high - low))));
  }
  const std::size_t half = values.size();
  for (std::size_t i = 0; i < half; ++i) values.push_back(-values[i]);
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

}  // namespace halftone::oracle
