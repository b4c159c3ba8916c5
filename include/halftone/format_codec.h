// SPDX-License-Identifier: Apache-2.0
//
// Decoding, and the facts that follow from a row. Integers only, so everything is constexpr and independent
// of the state of the processor. A code read as an integer grows with the magnitude of its value, so a carry
// out of the significand lands in the next binade by itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "halftone/format.h"

namespace halftone {

// A number taken apart: n * 2^exponent, or a little more. Holds every value of every format, and what lies
// between them closely enough to round it correctly.
struct Exact {
  enum class Kind : std::uint8_t { finite, infinity, nan };

  Kind kind = Kind::finite;
  bool negative = false;
  std::uint64_t n = 0;
  int exponent = 0;
  bool more = false;          // the true magnitude is larger, by less than 2^exponent
  std::uint64_t payload = 0;  // of a NaN, from bit 51 down as in a double

  friend constexpr bool operator==(const Exact&, const Exact&) = default;
};

// The value of a code: as a double (the nearest one where the format reaches beyond double: int64 above 2^53,
// P3109 formats with more than 11 exponent bits), and exactly. Bits above those of the format are ignored.
constexpr double decode(const Format& format, std::uint64_t code);
constexpr Exact decode_exact(const Format& format, std::uint64_t code);
constexpr Exact exact(double value);

namespace detail {

inline constexpr std::uint64_t kOne = 1;

constexpr std::uint64_t low_bits(int count) { return count >= 64 ? ~std::uint64_t{0} : (kOne << count) - 1; }

constexpr int width(std::uint64_t n) { return static_cast<int>(std::bit_width(n)); }

constexpr bool is_integer(const Format& format) { return format.specials == Specials::integer; }

// Codes of positive values are below this; in a format without a sign all are.
constexpr std::uint64_t magnitude_end(const Format& format) {
  return kOne << (format.exponent_bits + format.mantissa_bits);
}

constexpr std::uint64_t sign_bit(const Format& format) {
  return format.is_signed ? magnitude_end(format) : 0;
}

// The exponent of the unit in the last place of the smallest values.
constexpr int least_exponent(const Format& format) {
  if (is_integer(format)) return -format.bias;
  return (format.has_zero ? 1 : 0) - format.bias - format.mantissa_bits;
}

constexpr bool is_double(const Format& format) { return format.same_codes(float64.format()); }

// The code with the exponent field all ones and the mantissa zero.
constexpr std::uint64_t top_exponent(const Format& format) {
  return low_bits(format.exponent_bits) << format.mantissa_bits;
}

// The code of the largest finite value.
constexpr std::uint64_t max_code(const Format& format) {
  const std::uint64_t last = is_integer(format) ? low_bits(format.mantissa_bits)
                                                : low_bits(format.exponent_bits + format.mantissa_bits);
  switch (format.specials) {
    case Specials::ieee:
      return top_exponent(format) - 1;
    case Specials::nan_only:
      return last - 1;
    case Specials::extended:
      return format.is_signed ? last - 1 : last - 2;
    default:
      return last;
  }
}

// The code of the lowest finite value: the negative of the largest, or one further in two's complement; the
// smallest where there is no sign.
constexpr std::uint64_t lowest_code(const Format& format) {
  if (!format.is_signed) return 0;
  return is_integer(format) ? kOne << format.mantissa_bits : kOne << (format.bits() - 1) | max_code(format);
}

// The code of positive infinity, where there is one.
constexpr std::uint64_t infinity_code(const Format& format) { return max_code(format) + 1; }

// The code of NaN: quiet, with the sign and the leading payload bits given (as in a double) where the format
// has them. Zero where it has no NaN.
constexpr std::uint64_t nan_code(const Format& format, bool negative = false, std::uint64_t payload = 0) {
  const std::uint64_t sign = negative ? sign_bit(format) : 0;
  const std::uint64_t last = low_bits(format.exponent_bits + format.mantissa_bits);
  switch (format.specials) {
    case Specials::ieee:
      if (format.mantissa_bits == 0) return 0;
      return sign | top_exponent(format) |
             ((payload | kOne << 51) & low_bits(52)) >> (52 - format.mantissa_bits);
    case Specials::nan_only:
      return sign | last;
    case Specials::nan_zero:
    case Specials::extended:
      return format.is_signed ? sign_bit(format) : last;
    default:
      return 0;
  }
}

constexpr bool is_nan_code(const Format& format, std::uint64_t code) {
  if (!has_nan(format)) return false;
  const std::uint64_t magnitude = code & (magnitude_end(format) - 1);
  if (format.specials == Specials::ieee) return magnitude > top_exponent(format);
  return code == nan_code(format) || code == nan_code(format, true);
}

// n / 2^shift to nearest even, for the conversion of an exact number to a double.
constexpr std::uint64_t halve_to_even(std::uint64_t n, int shift, std::uint64_t base) {
  if (shift <= 0) return base + (n << -shift);
  if (shift > 64) return base;
  const std::uint64_t half = kOne << (shift - 1);
  const std::uint64_t rest = n & low_bits(shift), sum = base + (shift == 64 ? 0 : n >> shift);
  return sum + (rest > half || (rest == half && (sum & 1) != 0));
}

constexpr double nearest_double(const Exact& x) {
  constexpr std::uint64_t kInfinity = std::uint64_t{0x7FF} << 52;
  const std::uint64_t sign = x.negative ? kOne << 63 : 0;
  if (x.kind == Exact::Kind::nan)
    return std::bit_cast<double>(sign | kInfinity | kOne << 51 | (x.payload & low_bits(52)));
  if (x.kind == Exact::Kind::infinity) return std::bit_cast<double>(sign | kInfinity);
  if (x.n == 0) return std::bit_cast<double>(sign);
  const int top = x.exponent + width(x.n) - 1;
  if (top > 1023) return std::bit_cast<double>(sign | kInfinity);
  const int spacing = std::max(top - 52, -1074);
  const std::uint64_t base = static_cast<std::uint64_t>(spacing + 1074) << 52;
  return std::bit_cast<double>(sign | halve_to_even(x.n, spacing - x.exponent, base));
}

}  // namespace detail

constexpr bool has_infinity(const Format& format) {
  return format.specials == Specials::ieee || format.specials == Specials::extended;
}

constexpr bool has_nan(const Format& format) {
  return (format.specials == Specials::ieee && format.mantissa_bits > 0) ||
         format.specials == Specials::nan_only || format.specials == Specials::nan_zero ||
         format.specials == Specials::extended;
}

constexpr bool has_negative_zero(const Format& format) {
  return format.is_signed && format.has_zero && format.specials != Specials::nan_zero &&
         format.specials != Specials::extended && format.specials != Specials::integer;
}

constexpr Exact exact(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & detail::low_bits(52);
  const auto binade = static_cast<int>(bits >> 52 & 0x7FF);
  const bool negative = bits >> 63 != 0;
  if (binade == 0x7FF && fraction != 0) return {Exact::Kind::nan, negative, 0, 0, false, fraction};
  if (binade == 0x7FF) return {Exact::Kind::infinity, negative};
  return {Exact::Kind::finite, negative, binade == 0 ? fraction : detail::kOne << 52 | fraction,
          std::max(binade, 1) - 1075};
}

constexpr Exact decode_exact(const Format& format, std::uint64_t code) {
  code &= detail::low_bits(format.bits());  // a code of 6 bits sits in a byte
  if (detail::is_integer(format)) {
    const bool negative = format.is_signed && (code >> format.mantissa_bits & 1) != 0;
    const std::uint64_t magnitude = negative ? (~code + 1) & detail::low_bits(format.bits()) : code;
    return {Exact::Kind::finite, negative, magnitude, -format.bias};
  }
  const bool negative = (code & detail::sign_bit(format)) != 0;
  const std::uint64_t magnitude = code & (detail::magnitude_end(format) - 1);
  const std::uint64_t fraction = magnitude & detail::low_bits(format.mantissa_bits);
  if (detail::is_nan_code(format, code))
    return {Exact::Kind::nan, negative, 0, 0, false, fraction << (52 - format.mantissa_bits)};
  if (magnitude > detail::max_code(format)) return {Exact::Kind::infinity, negative};
  const auto binade = static_cast<int>(magnitude >> format.mantissa_bits);
  const int first = format.has_zero ? 1 : 0;  // the lowest binade with a hidden bit
  const std::uint64_t hidden = binade < first ? 0 : detail::kOne << format.mantissa_bits;
  return {Exact::Kind::finite, negative, hidden | fraction,
          std::max(binade - first, 0) + detail::least_exponent(format)};
}

constexpr double decode(const Format& format, std::uint64_t code) {
  if (detail::is_double(format)) return std::bit_cast<double>(code);  // payloads of NaNs included
  return detail::nearest_double(decode_exact(format, code));
}

constexpr double max_finite(const Format& format) { return decode(format, detail::max_code(format)); }

constexpr double min_subnormal(const Format& format) { return decode(format, format.has_zero ? 1 : 0); }

constexpr double min_normal(const Format& format) {
  if (!format.has_zero || detail::is_integer(format)) return min_subnormal(format);
  return detail::nearest_double(
      {Exact::Kind::finite, false, detail::kOne << format.mantissa_bits,
       detail::least_exponent(format)});  // with one exponent bit no code may reach it
}

constexpr double epsilon(const Format& format) {
  const int precision = detail::is_integer(format) ? -format.bias : -format.mantissa_bits;
  return detail::nearest_double(
      {Exact::Kind::finite, false, 1, std::max(precision, detail::least_exponent(format))});
}

}  // namespace halftone
