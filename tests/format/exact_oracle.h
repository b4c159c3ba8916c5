// SPDX-License-Identifier: Apache-2.0
//
// Exact arithmetic to test against: numbers as rationals of GMP, and every rounding by MPFR, which rounds to
// a precision and a smallest exponent. What overflow, NaN, -0 and subnormals become is decided here anew from
// the text of conversion.h, on values rather than codes.
#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include "format/oracle.h"

namespace halftone::oracle {

// x := x 2^exponent, and x := n 2^exponent, in place: nothing is allocated in a loop.
inline void scale(mpq_class& x, long exponent) {
  if (exponent > 0) mpq_mul_2exp(x.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent));
  if (exponent < 0) mpq_div_2exp(x.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
}
inline void set(mpq_class& x, std::uint64_t n, long exponent) {
  mpq_set_ui(x.get_mpq_t(), n, 1);
  scale(x, exponent);
}

inline mpq_class scaled(mpq_class x, long exponent) {
  scale(x, exponent);
  return x;
}

// Of magnitudes that are finite.
inline mpq_class rational(const Meaning& x) { return scaled(mpq_class(mpz_class(x.n)), x.exponent); }
inline mpq_class rational(const Exact& x) { return scaled(mpq_class(mpz_class(x.n)), x.exponent); }

// The neighbours of a number in a format that had no largest value: equal where it is one of its values.
struct Neighbours {
  double down, up, nearest_even;  // magnitudes; even by the significand
  int middle;                     // below, on or above it: -1, 0, 1
  bool exact() const { return down == up; }
};

class MpfrFormat {
 public:
  explicit MpfrFormat(const Format& f)
      : precision_(f.mantissa_bits + 1),
        bias_(f.bias),
        integer_(f.specials == Specials::integer),
        subnormals_(f.has_zero),
        least_(meaning_of(f, 1).exponent) {
    mpfr_inits2(precision_, down_, up_, even_, nullptr);
    mpfr_inits2(64, x_, twice_, nullptr);
  }
  ~MpfrFormat() { mpfr_clears(down_, up_, even_, x_, twice_, nullptr); }
  MpfrFormat(const MpfrFormat&) = delete;
  MpfrFormat& operator=(const MpfrFormat&) = delete;

  Neighbours round(double magnitude) {
    return integer_ ? round_to_integer(magnitude) : round_to_float(magnitude);
  }

 private:
  double round_to(mpfr_t result, double x, mpfr_rnd_t mode) const {
    const int ternary = mpfr_set_d(result, x, mode);
    if (subnormals_) mpfr_subnormalize(result, ternary, mode);
    return mpfr_get_d(result, MPFR_RNDN);
  }

  Neighbours round_to_float(double x) {
    const mpfr_exp_t before = mpfr_get_emin();
    if (subnormals_) mpfr_set_emin(least_ + 1);  // MPFR's significands lie in [1/2, 1)
    Neighbours n{round_to(down_, x, MPFR_RNDZ), round_to(up_, x, MPFR_RNDA), round_to(even_, x, MPFR_RNDN),
                 0};
    mpfr_set_emin(before);
    n.middle = compare_with_middle(x, n);
    return n;
  }

  Neighbours round_to_integer(double magnitude) {
    const double x = std::ldexp(magnitude, bias_);
    mpfr_set_d(x_, x, MPFR_RNDN);
    const auto rint = [&](mpfr_rnd_t mode) {
      mpfr_rint(twice_, x_, mode);
      return mpfr_get_d(twice_, MPFR_RNDN);
    };
    Neighbours n{rint(MPFR_RNDZ), rint(MPFR_RNDA), rint(MPFR_RNDN), 0};
    n.middle = compare_with_middle(x, n);
    return {std::ldexp(n.down, -bias_), std::ldexp(n.up, -bias_), std::ldexp(n.nearest_even, -bias_),
            n.middle};
  }

  // 2 x against down + up; both are exact in 64 bits.
  int compare_with_middle(double x, const Neighbours& n) {
    mpfr_set_d(twice_, x, MPFR_RNDN);
    mpfr_mul_2ui(twice_, twice_, 1, MPFR_RNDN);
    mpfr_set_d(x_, n.down, MPFR_RNDN);
    mpfr_add_d(x_, x_, n.up, MPFR_RNDN);
    const int order = mpfr_cmp(twice_, x_);
    return (order > 0) - (order < 0);
  }

  mpfr_prec_t precision_;
  int bias_;
  bool integer_, subnormals_;
  mpfr_exp_t least_;  // of the unit in the last place of the smallest values
  mpfr_t down_, up_, even_, x_, twice_;
};

// Every conversion of a row of at most 16 bits whose values are doubles.
class Converter {
 public:
  explicit Converter(const Format& f) : format_(f), mpfr_(f), table_(f, Overflow::to_special) {
    for (std::uint64_t i = 0; i <= table_.largest(); ++i) values_.push_back(table_.values()[i]);
  }

  const Thresholds& table() const { return table_; }

  bool accepts(double x, const Conversion& c, std::uint64_t code) {
    if (!std::isnan(x)) return table_.same(code, expected(x, c));
    if (table_.has_nan()) return table_.is_nan(code);
    return code == (c.missing_nan == MissingNan::zero ? 0 : table_.largest());
  }

  // Of anything but NaN, by any rounding but the stochastic one.
  std::uint64_t expected(double x, const Conversion& c) {
    const bool negative = std::signbit(x), finite = std::isfinite(x);
    if (x == 0) return format_.has_zero ? zero(negative, c) : refused(c);
    if (finite && x != last_) last_ = x, neighbours_ = mpfr_.round(std::fabs(x));
    if (format_.specials == Specials::integer) return integer(x, c);
    if (negative && !format_.is_signed) {
      const bool vanishes = format_.has_zero && finite && (is_flushed(x, c) || rounded(x, c) == 0);
      return vanishes ? 0 : refused(c);
    }
    if (!finite) return c.overflow == Overflow::saturate ? largest(negative) : table_.of_infinity(negative);
    if (is_flushed(x, c)) return zero(negative, c);
    const double y = rounded(x, c);
    if (y > values_.back()) return clamps(negative, c) ? largest(negative) : table_.of_infinity(negative);
    if (y < values_.front()) return table_.side(negative).codes[0];  // there is no zero below it
    if (y == 0) return zero(negative, c);
    return table_.side(negative).codes[index_of(y)];
  }

 private:
  // The place of a value in the table, which is also its code.
  std::uint64_t index_of(double y) const {
    const auto place = std::lower_bound(values_.begin(), values_.end(), y);
    if (place == values_.end() || *place != y) return ~std::uint64_t{0};  // not a value: no code is right
    return static_cast<std::uint64_t>(place - values_.begin());
  }

  bool is_even(double y) const { return index_of(std::min(y, values_.back())) % 2 == 0; }

  double rounded(double x, const Conversion& c) const {
    const Neighbours& n = neighbours_;
    const bool negative = std::signbit(x);
    switch (c.rounding) {
      case Rounding::nearest_even:  // of the code, which differs where there are no fraction bits
        return format_.mantissa_bits > 0 || n.middle != 0 || n.exact() ? n.nearest_even
               : is_even(n.down)                                       ? n.down
                                                                       : n.up;
      case Rounding::nearest_away:
        return n.middle >= 0 ? n.up : n.down;
      case Rounding::toward_positive:
        return negative ? n.down : n.up;
      case Rounding::toward_negative:
        return negative ? n.up : n.down;
      case Rounding::to_odd:
        return n.exact() || (n.down <= values_.back() && !is_even(n.down)) ? n.down : n.up;
      default:
        return n.down;
    }
  }

  std::uint64_t integer(double x, const Conversion& c) const {
    const bool negative = std::signbit(x);
    const auto& codes = table_.side(negative).codes;
    if (negative && !format_.is_signed) return 0;
    if (!std::isfinite(x)) return codes.back();
    const double units = std::ldexp(rounded(x, c), format_.bias);
    const double last = static_cast<double>(table_.largest()) + (negative ? 1 : 0);
    return codes[static_cast<std::size_t>(std::min(units, last))];
  }

  bool is_flushed(double x, const Conversion& c) const {
    if (c.subnormals == Subnormals::keep || !format_.has_zero) return false;
    return std::fabs(x) < std::ldexp(1.0, 1 - format_.bias);
  }

  static bool clamps(bool negative, const Conversion& c) {
    if (c.overflow != Overflow::to_special) return true;
    if (c.rounding == Rounding::toward_positive) return negative;
    if (c.rounding == Rounding::toward_negative) return !negative;
    return c.rounding == Rounding::toward_zero || c.rounding == Rounding::to_odd;
  }

  std::uint64_t refused(const Conversion& c) const {
    if (c.overflow != Overflow::to_special) return 0;
    for (std::uint64_t code = 0; code >> format_.bits() == 0; ++code)
      if (table_.is_nan(code)) return code;
    return 0;
  }

  std::uint64_t zero(bool negative, const Conversion& c) const {
    return table_.side(negative && c.negative_zero == NegativeZero::keep).codes[0];
  }

  std::uint64_t largest(bool negative) const { return table_.side(negative).codes[table_.largest()]; }

  Format format_;
  MpfrFormat mpfr_;
  Thresholds table_;
  std::vector<double> values_;
  double last_ = 0;
  Neighbours neighbours_{};
};

}  // namespace halftone::oracle
