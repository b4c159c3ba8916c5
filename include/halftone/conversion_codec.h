// SPDX-License-Identifier: Apache-2.0
//
// Encoding in integers: the significand is shifted to the spacing of the format and rounded once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "halftone/conversion.h"

namespace halftone {
namespace detail {

// n * 2^-shift = quotient + rest, with `more` beyond n's last bit.
struct Quotient {
  std::uint64_t whole;
  std::uint32_t leading;  // the first 32 bits of the fraction
  bool at_least_half, above_half, inexact;
};

constexpr Quotient divide(std::uint64_t n, int shift, bool more) {
  if (shift <= 0) return {n << -shift, 0, false, false, more};
  const std::uint64_t whole = shift < 64 ? n >> shift : 0;
  const std::uint64_t rest = shift < 64 ? n & low_bits(shift) : n;
  const bool half = shift <= 64 && (rest >> (shift - 1) & 1) != 0;
  const bool beyond = (half ? (rest & low_bits(shift - 1)) != 0 : rest != 0) || more;
  const std::uint64_t leading = shift <= 32       ? rest << (32 - shift)
                                : shift - 32 < 64 ? rest >> (shift - 32)
                                                  : 0;
  return {whole, static_cast<std::uint32_t>(leading), half, half && beyond, half || beyond};
}

constexpr bool rounds_away(const Quotient& q, bool odd, bool negative, const Conversion& conversion,
                           std::uint32_t random) {
  switch (conversion.rounding) {
    case Rounding::nearest_even:
      return q.above_half || (q.at_least_half && odd);
    case Rounding::nearest_away:
      return q.at_least_half;
    case Rounding::toward_zero:
      return false;
    case Rounding::toward_positive:
      return q.inexact && !negative;
    case Rounding::toward_negative:
      return q.inexact && negative;
    case Rounding::to_odd:
      return q.inexact && !odd;
    case Rounding::stochastic: {
      // fraction + random >= 1, both cut to random_bits
      const int unused = 32 - conversion.random_bits;
      return (std::uint64_t{q.leading >> unused} + (random >> unused)) >> conversion.random_bits != 0;
    }
  }
  return false;
}

// True if a finite value beyond the largest stays at the largest.
constexpr bool clamps(const Conversion& conversion, bool negative) {
  if (conversion.overflow != Overflow::to_special) return true;
  switch (conversion.rounding) {
    case Rounding::toward_zero:
    case Rounding::to_odd:
      return true;
    case Rounding::toward_positive:
      return negative;
    case Rounding::toward_negative:
      return !negative;
    default:
      return false;
  }
}

// The code of infinity or of what stands in for it.
constexpr std::uint64_t special_code(const Format& format, bool negative) {
  const std::uint64_t sign = negative ? sign_bit(format) : 0;
  if (has_infinity(format)) return sign | infinity_code(format);
  return has_nan(format) ? nan_code(format, negative) : sign | max_code(format);
}

constexpr std::uint64_t encode_integer(const Format& format, const Exact& x, const Conversion& conversion,
                                       std::uint32_t random) {
  if (x.negative && !format.is_signed) return 0;
  const std::uint64_t limit = low_bits(format.mantissa_bits) + (x.negative ? 1 : 0);
  std::uint64_t magnitude = limit;
  const int exponent = x.exponent + format.bias;
  if (x.kind == Exact::Kind::finite && (x.n == 0 || exponent + width(x.n) <= 64)) {
    const Quotient q = divide(x.n, -exponent, x.more);
    const bool away = rounds_away(q, (q.whole & 1) != 0, x.negative, conversion, random);
    magnitude = q.whole >= limit ? limit : q.whole + (away ? 1 : 0);
  }
  return (x.negative ? ~magnitude + 1 : magnitude) & low_bits(format.bits());
}

// The code of |x| as if there were no largest exponent; one below zero where there is neither zero nor a
// smaller value.
constexpr std::uint64_t magnitude_code(const Format& format, const Exact& x, const Conversion& conversion,
                                       std::uint32_t random) {
  const int least = least_exponent(format);
  const int top = x.exponent + width(x.n) - 1;
  const int spacing = std::max(top - format.mantissa_bits, least);
  if (spacing - least > 1 << format.exponent_bits) return magnitude_end(format);  // far beyond the largest
  const std::uint64_t hidden = format.has_zero ? 0 : kOne << format.mantissa_bits;
  const std::uint64_t base = static_cast<std::uint64_t>(spacing - least) << format.mantissa_bits;
  const Quotient q = divide(x.n, spacing - x.exponent, x.more);
  const std::uint64_t code = base + q.whole;
  const bool away = rounds_away(q, ((code - hidden) & 1) != 0, x.negative, conversion, random);
  return std::max(code + (away ? 1 : 0), hidden) - hidden;
}

}  // namespace detail

constexpr std::uint64_t encode(const Format& format, const Exact& x, const Conversion& conversion,
                               std::uint32_t random) {
  using Kind = Exact::Kind;
  if (x.kind == Kind::nan && (has_nan(format) || conversion.missing_nan == MissingNan::zero))
    return detail::nan_code(format, x.negative, x.payload);
  if (x.kind == Kind::nan) return detail::max_code(format);
  if (detail::is_integer(format)) return detail::encode_integer(format, x, conversion, random);

  const std::uint64_t sign = x.negative ? detail::sign_bit(format) : 0;
  const std::uint64_t zero =
      has_negative_zero(format) && conversion.negative_zero == NegativeZero::keep ? sign : 0;
  const bool is_zero = x.kind == Kind::finite && x.n == 0 && !x.more;
  const std::uint64_t largest = detail::max_code(format);
  const bool refuses = conversion.overflow == Overflow::to_special && has_nan(format);
  if (is_zero) return format.has_zero || !refuses ? zero : detail::nan_code(format);
  if (x.kind == Kind::infinity && (format.is_signed || !x.negative))
    return conversion.overflow == Overflow::saturate ? sign | largest
                                                     : detail::special_code(format, x.negative);

  std::uint64_t code = largest + 1;
  if (x.kind == Kind::finite) {
    code = detail::magnitude_code(format, x, conversion, random);
    const int top = x.exponent + detail::width(x.n) - 1;
    const bool below_normal = top < detail::least_exponent(format) + format.mantissa_bits;
    if (conversion.subnormals == Subnormals::flush && below_normal && format.has_zero) code = 0;
  }
  if (x.negative && !format.is_signed && !(code == 0 && format.has_zero))
    return refuses ? detail::nan_code(format) : 0;
  if (code > largest)
    return detail::clamps(conversion, x.negative) ? sign | largest : detail::special_code(format, x.negative);
  return code == 0 && format.has_zero ? zero : sign | code;
}

constexpr std::uint64_t encode(const Format& format, double value, const Conversion& conversion,
                               std::uint32_t random) {
  return encode(format, exact(value), conversion, random);
}

constexpr std::uint64_t encode(const Format& format, double value) {
  if (detail::is_double(format)) return std::bit_cast<std::uint64_t>(value);  // payloads of NaNs included
  return encode(format, value, default_conversion(format));
}

}  // namespace halftone
