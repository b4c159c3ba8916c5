// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a narrow format as values of a C++ program: one code each, usable in containers, with
// std::numeric_limits, std::hash, streams and std::format (scalar_fmt.h has fmt). Arithmetic between two of the same format is correctly rounded (to
// nearest even, by the format's default conversion); with anything wider it happens in float, to which every
// narrow number converts exactly. Nothing narrows implicitly: `float16_t x = y` needs a y of the same format.
#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <type_traits>
#include <version>

#ifdef __cpp_lib_format
#include <format>
#endif

#include "halftone/conversion.h"

namespace halftone {
namespace detail {

// a + b rounded to odd: if the nearest double is inexact and even, its neighbour towards the rest.
constexpr double add_to_odd(double a, double b) {
  const double sum = a + b, part = sum - a, rest = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (!(rest > 0 || rest < 0) || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

}  // namespace detail

// The number format at that place of kFormats, floating and of at most 16 bits.
template <int index>
class Scalar {
 public:
  static constexpr const Format& format() { return kFormats[index]; }
  static_assert(kFormats[index].is_floating() && kFormats[index].bits() <= 16);
  using Code = std::conditional_t<(kFormats[index].bits() <= 8), std::uint8_t, std::uint16_t>;

  constexpr Scalar() = default;
  constexpr explicit Scalar(double value) : code_(static_cast<Code>(encode(format(), value))) {}
  constexpr Scalar(double value, const Conversion& conversion, std::uint32_t random = 0)
      : code_(static_cast<Code>(encode(format(), value, conversion, random))) {}
  template <std::integral Integer>
  constexpr explicit Scalar(Integer value)
      : code_(static_cast<Code>(
            encode(format(), whole(value), default_conversion(format())))) {}
  static constexpr Scalar from_code(std::uint64_t code) {
    Scalar result;
    result.code_ = static_cast<Code>(code & detail::low_bits(format().bits()));
    return result;
  }

  constexpr Code code() const { return code_; }
  constexpr operator float() const { return static_cast<float>(decode(format(), code_)); }

  constexpr Scalar operator-() const
    requires(kFormats[index].is_signed)
  {
    return Scalar(-decode(format(), code_));
  }
  constexpr Scalar operator+() const { return *this; }

  // One operation in double and one rounding: correctly rounded, as double has more than twice the digits and
  // two (Figueroa 1995).
  friend constexpr Scalar operator+(Scalar a, Scalar b) { return Scalar(a.wide() + b.wide()); }
  friend constexpr Scalar operator-(Scalar a, Scalar b) { return Scalar(a.wide() - b.wide()); }
  friend constexpr Scalar operator*(Scalar a, Scalar b) { return Scalar(a.wide() * b.wide()); }
  friend constexpr Scalar operator/(Scalar a, Scalar b) { return Scalar(a.wide() / b.wide()); }
  constexpr Scalar& operator+=(Scalar b) { return *this = *this + b; }
  constexpr Scalar& operator-=(Scalar b) { return *this = *this - b; }
  constexpr Scalar& operator*=(Scalar b) { return *this = *this * b; }
  constexpr Scalar& operator/=(Scalar b) { return *this = *this / b; }

  friend constexpr bool operator==(Scalar a, Scalar b) { return a.wide() == b.wide(); }
  friend constexpr std::partial_ordering operator<=>(Scalar a, Scalar b) { return a.wide() <=> b.wide(); }

  friend Scalar sqrt(Scalar x) { return Scalar(std::sqrt(x.wide())); }
  friend constexpr Scalar abs(Scalar x) { return x.wide() < 0 || x.code_ == encode(format(), -0.0) ? -x : x; }
  friend constexpr bool isnan(Scalar x) { return detail::is_nan_code(format(), x.code_); }
  friend constexpr bool isinf(Scalar x) { return decode_exact(format(), x.code_).kind == Exact::Kind::infinity; }
  friend constexpr bool isfinite(Scalar x) { return !isnan(x) && !isinf(x); }

  // a * b + c rounded once. The product is exact in double; the sum goes through rounding to odd, which
  // is safe to round again (Boldo and Melquiond 2008).
  friend constexpr Scalar fma(Scalar a, Scalar b, Scalar c) {
    return Scalar(detail::add_to_odd(a.wide() * b.wide(), c.wide()));
  }

 private:
  constexpr double wide() const { return decode(format(), code_); }
  template <class Integer>
  static constexpr Exact whole(Integer value) {
    const bool negative = value < Integer{0};
    const auto bits = static_cast<std::uint64_t>(value);
    return {Exact::Kind::finite, negative, negative ? ~bits + 1 : bits, 0};
  }

  Code code_ = 0;
};

template <int index>
std::ostream& operator<<(std::ostream& out, Scalar<index> x) {
  return out << static_cast<float>(x);
}

using float16_t = Scalar<format_index("float16")>;
using bfloat16_t = Scalar<format_index("bfloat16")>;
using float8_e4m3fn_t = Scalar<format_index("float8_e4m3fn")>;
using float8_e5m2_t = Scalar<format_index("float8_e5m2")>;
using float8_e4m3_t = Scalar<format_index("float8_e4m3")>;
using float8_e3m4_t = Scalar<format_index("float8_e3m4")>;
using float8_e4m3fnuz_t = Scalar<format_index("float8_e4m3fnuz")>;
using float8_e5m2fnuz_t = Scalar<format_index("float8_e5m2fnuz")>;
using float8_e4m3b11fnuz_t = Scalar<format_index("float8_e4m3b11fnuz")>;
using float6_e3m2fn_t = Scalar<format_index("float6_e3m2fn")>;
using float6_e2m3fn_t = Scalar<format_index("float6_e2m3fn")>;
using float4_e2m1fn_t = Scalar<format_index("float4_e2m1fn")>;
using float8_e8m0fnu_t = Scalar<format_index("float8_e8m0fnu")>;

}  // namespace halftone

template <int index>
struct std::numeric_limits<halftone::Scalar<index>> {
 private:
  using T = halftone::Scalar<index>;
  static constexpr const halftone::Format& f = halftone::kFormats[index];
  static constexpr bool fixed = f.specials == halftone::Specials::integer;
  static constexpr int top = halftone::detail::width(halftone::decode_exact(f, halftone::detail::max_code(f)).n) +
                             halftone::decode_exact(f, halftone::detail::max_code(f)).exponent;
  static constexpr int floor_log10_of_2(int n) {  // floor(n log10 2), exact for |n| < 10000
    return static_cast<int>((static_cast<std::int64_t>(n) * 30103 - (n < 0 ? 99999 : 0)) / 100000);
  }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = f.is_signed, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = halftone::has_infinity(f), has_quiet_NaN = halftone::has_nan(f);
  static constexpr bool has_signaling_NaN = false, is_bounded = true, is_modulo = false;
  static constexpr bool is_iec559 = f.specials == halftone::Specials::ieee && f.mantissa_bits > 0;
  static constexpr bool traps = false, tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = f.precision();
  static constexpr int digits10 = floor_log10_of_2(digits - 1);
  static constexpr int max_digits10 = floor_log10_of_2(digits) + 2;
  static constexpr int min_exponent =
      fixed ? 1 - f.bias : (f.has_zero ? 2 : 1) - f.bias;  // 2^(min_exponent - 1) is the smallest normal
  static constexpr int max_exponent = top;
  static constexpr int min_exponent10 = -floor_log10_of_2(1 - min_exponent);
  static constexpr int max_exponent10 = floor_log10_of_2(top);

  static constexpr T min() noexcept { return T(halftone::min_normal(f)); }
  static constexpr T max() noexcept { return T::from_code(halftone::detail::max_code(f)); }
  static constexpr T lowest() noexcept {
    if constexpr (f.is_signed) return T(fixed ? -halftone::max_finite(f) - halftone::epsilon(f) : -halftone::max_finite(f));
    return T::from_code(0);
  }
  static constexpr T epsilon() noexcept { return T(halftone::epsilon(f)); }
  static constexpr T round_error() noexcept { return T(0.5); }
  static constexpr T denorm_min() noexcept { return T(halftone::min_subnormal(f)); }
  static constexpr T infinity() noexcept {
    return has_infinity ? T::from_code(halftone::detail::infinity_code(f)) : T();
  }
  static constexpr T quiet_NaN() noexcept { return T::from_code(halftone::detail::nan_code(f)); }
  static constexpr T signaling_NaN() noexcept { return T(); }
};

template <int index>
struct std::hash<halftone::Scalar<index>> {
  // Equal numbers have equal hashes: -0 counts as 0.
  std::size_t operator()(halftone::Scalar<index> x) const noexcept {
    return std::hash<float>()(static_cast<float>(x));
  }
};

#ifdef __cpp_lib_format
template <int index>
struct std::formatter<halftone::Scalar<index>> : std::formatter<float> {
  auto format(halftone::Scalar<index> x, auto& context) const {
    return std::formatter<float>::format(static_cast<float>(x), context);
  }
};
#endif
