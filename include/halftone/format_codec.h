// SPDX-License-Identifier: Apache-2.0
//
// The codec behind format.h, in integers only: a double is split into sign, significand and exponent, the
// significand is shifted to the spacing of the format and rounded once. A code read as an integer grows with
// the magnitude of its value, so a carry out of the significand lands in the next binade by itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "halftone/format.h"

namespace halftone {
namespace detail {

inline constexpr std::uint64_t kOne = 1;

constexpr std::uint64_t low_bits(int count) { return count >= 64 ? ~std::uint64_t{0} : (kOne << count) - 1; }

// base + n / 2^shift, rounded to nearest and halfway to the even sum.
constexpr std::uint64_t shift_to_even(std::uint64_t n, int shift, std::uint64_t base = 0) {
  if (shift <= 0) return base + (n << -shift);
  if (shift > 64) return base;
  const std::uint64_t half = kOne << (shift - 1);
  const std::uint64_t rest = n & low_bits(shift), sum = base + (shift == 64 ? 0 : n >> shift);
  return sum + (rest > half || (rest == half && (sum & 1) != 0));
}

constexpr int width(std::uint64_t n) { return static_cast<int>(std::bit_width(n)); }

// The code of n * 2^exponent in the binary format of that mantissa width and least exponent (that of the
// smallest subnormal), as if there were no largest exponent. n is not zero.
constexpr std::uint64_t magnitude_code(std::uint64_t n, int exponent, int mantissa_bits, int least) {
  const int top = exponent + width(n) - 1;
  const int spacing = std::max(top - mantissa_bits, least);
  const auto binade = static_cast<std::uint64_t>(spacing - least);
  return shift_to_even(n, spacing - exponent, binade << mantissa_bits);
}

constexpr std::uint64_t sign_bit(const Format& format) {
  return kOne << (format.exponent_bits + format.mantissa_bits);
}

constexpr int least_exponent(const Format& format) { return 1 - format.bias - format.mantissa_bits; }

// The code with the exponent field all ones and the mantissa zero: infinity, where there is one.
constexpr std::uint64_t top_exponent(const Format& format) {
  return low_bits(format.exponent_bits) << format.mantissa_bits;
}

// The code of the largest finite value. In an integer format, the largest integer.
constexpr std::uint64_t max_code(const Format& format) {
  switch (format.specials) {
    case Specials::ieee:
      return top_exponent(format) - 1;
    case Specials::nan_only:
      return sign_bit(format) - 2;
    case Specials::integer:
      return low_bits(format.mantissa_bits);
    default:
      return sign_bit(format) - 1;
  }
}

constexpr bool has_infinity(const Format& format) { return format.specials == Specials::ieee; }

constexpr bool has_nan(const Format& format) {
  return (format.specials == Specials::ieee && format.mantissa_bits > 0) ||
         format.specials == Specials::nan_only || format.specials == Specials::nan_zero;
}

// A double is a row of the table too; its codes pass through unchanged, payloads of NaNs included.
constexpr bool is_double(const Format& format) {
  return format.exponent_bits == 11 && format.mantissa_bits == 52 && format.bias == 1023 &&
         format.specials == Specials::ieee;
}

inline constexpr std::uint64_t kDoubleSign = kOne << 63;
inline constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7FF} << 52;
inline constexpr std::uint64_t kDoubleQuiet = kOne << 51;

constexpr double compose(bool negative, std::uint64_t n, int exponent) {
  const std::uint64_t code = n == 0 ? 0 : std::min(magnitude_code(n, exponent, 52, -1074), kDoubleInfinity);
  return std::bit_cast<double>(code | (negative ? kDoubleSign : 0));
}

// The code of NaN: quiet, with the sign and the leading payload bits of the NaN given.
constexpr std::uint64_t nan_code(const Format& format, std::uint64_t sign, std::uint64_t bits) {
  switch (format.specials) {
    case Specials::ieee:
      if (format.mantissa_bits == 0) return 0;
      return sign | top_exponent(format) |
             ((bits | kDoubleQuiet) & low_bits(52)) >> (52 - format.mantissa_bits);
    case Specials::nan_only:
      return sign | low_bits(format.exponent_bits + format.mantissa_bits);
    case Specials::nan_zero:
      return sign_bit(format);
    default:
      return 0;
  }
}

constexpr bool is_nan_code(const Format& format, std::uint64_t code) {
  const std::uint64_t magnitude = code & (sign_bit(format) - 1);
  switch (format.specials) {
    case Specials::ieee:
      return magnitude > top_exponent(format);
    case Specials::nan_only:
      return magnitude == sign_bit(format) - 1;
    case Specials::nan_zero:
      return code == sign_bit(format);
    default:
      return false;
  }
}

constexpr double decode_integer(const Format& format, std::uint64_t code) {
  const bool negative = format.is_signed() && (code >> format.mantissa_bits & 1) != 0;
  const std::uint64_t mask = low_bits(format.bits());
  return compose(negative, (negative ? ~code + 1 : code) & mask, 0);
}

constexpr std::uint64_t encode_integer(const Format& format, bool negative, std::uint64_t n, int exponent) {
  if (negative && !format.is_signed()) return 0;
  const std::uint64_t limit = low_bits(format.mantissa_bits) + negative;
  const bool huge = n != 0 && exponent + width(n) > 64;
  const std::uint64_t magnitude = huge ? limit : std::min(shift_to_even(n, -exponent), limit);
  return (negative ? ~magnitude + 1 : magnitude) & low_bits(format.bits());
}

}  // namespace detail

constexpr double decode(const Format& format, std::uint64_t code) {
  if (detail::is_double(format)) return std::bit_cast<double>(code);
  if (!format.is_floating()) return detail::decode_integer(format, code);
  const std::uint64_t sign = detail::sign_bit(format);
  code &= detail::low_bits(format.bits());  // a code of 6 bits sits in a byte
  const bool negative = (code & sign) != 0;
  const std::uint64_t magnitude = code & (sign - 1);
  if (detail::is_nan_code(format, code)) {
    const std::uint64_t payload = magnitude & detail::low_bits(format.mantissa_bits);
    return std::bit_cast<double>((negative ? detail::kDoubleSign : 0) | detail::kDoubleInfinity |
                                 detail::kDoubleQuiet | payload << (52 - format.mantissa_bits));
  }
  if (magnitude > detail::max_code(format))
    return std::bit_cast<double>((negative ? detail::kDoubleSign : 0) | detail::kDoubleInfinity);
  const auto binade = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint64_t fraction = magnitude & detail::low_bits(format.mantissa_bits);
  const std::uint64_t hidden = binade == 0 ? 0 : detail::kOne << format.mantissa_bits;
  return detail::compose(negative, hidden | fraction,
                         std::max(binade - 1, 0) + detail::least_exponent(format));
}

constexpr std::uint64_t encode(const Format& format, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (detail::is_double(format)) return bits;
  const bool negative = bits >> 63 != 0;
  const std::uint64_t sign = negative && format.is_floating() ? detail::sign_bit(format) : 0;
  const std::uint64_t fraction = bits & detail::low_bits(52);
  const auto binade = static_cast<int>(bits >> 52 & 0x7FF);
  if (binade == 0x7FF && fraction != 0) return detail::nan_code(format, sign, bits);
  const std::uint64_t n = binade == 0 ? fraction : detail::kOne << 52 | fraction;
  const int exponent = std::max(binade, 1) - 1075;  // of infinity: 972, beyond every format
  if (!format.is_floating()) return detail::encode_integer(format, negative, n, exponent);

  std::uint64_t code = 0;
  if (n != 0)
    code = detail::magnitude_code(n, exponent, format.mantissa_bits, detail::least_exponent(format));
  if (binade == 0x7FF || code > detail::max_code(format)) {
    if (format.specials == Specials::none) return sign | detail::max_code(format);
    if (detail::has_infinity(format)) return sign | detail::top_exponent(format);
    return detail::nan_code(format, sign, 0);
  }
  return code == 0 && format.specials == Specials::nan_zero ? 0 : sign | code;  // there -0 would be NaN
}

constexpr double max_finite(const Format& format) { return decode(format, detail::max_code(format)); }

constexpr double min_normal(const Format& format) {
  return format.is_floating() ? decode(format, detail::kOne << format.mantissa_bits) : 1;
}

constexpr double min_subnormal(const Format& format) { return decode(format, 1); }

constexpr double epsilon(const Format& format) {
  return format.is_floating()
             ? std::max(detail::compose(false, 1, -format.mantissa_bits), min_subnormal(format))
             : 1;
}

}  // namespace halftone
