// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a narrow format as values of a C++ program: one code each, usable in containers, with
// std::numeric_limits, std::hash, std::format and, through their float, streams (scalar_fmt.h has fmt).
// Arithmetic between two of the same format is correctly rounded, by the format's default conversion, and in
// integers: the state of the processor and the compiler's floating-point options do not matter. With anything
// wider it happens in float, to which every narrow number converts exactly. Nothing narrows implicitly:
// `float16_t x = y` needs a y of the same format. (As with all that converts to float, `c ? x : 1` is an int;
// write 1.0f.)
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <version>

#ifdef __cpp_lib_format
#include <format>
#endif

#include "halftone/conversion.h"

namespace halftone {
namespace detail {

// Arithmetic on exact numbers of at most 22 bits (11 in a quotient and a root). A result that does not end
// has 18 bits or more and says that there is more, which is enough to round it once.
constexpr Exact negative(Exact x) {
  x.negative = !x.negative;
  return x;
}

constexpr bool is_zero(const Exact& x) { return x.kind == Exact::Kind::finite && x.n == 0; }
constexpr bool is_nan(const Exact& x) { return x.kind == Exact::Kind::nan; }
constexpr bool is_infinity(const Exact& x) { return x.kind == Exact::Kind::infinity; }

constexpr Exact sum(const Exact& a, const Exact& b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) ? a : b;
  if (is_infinity(a) && is_infinity(b) && a.negative != b.negative) return {Exact::Kind::nan};
  if (is_infinity(a) || is_infinity(b)) return is_infinity(a) ? a : b;
  if (is_zero(a) && is_zero(b)) return {Exact::Kind::finite, a.negative && b.negative};
  if (is_zero(a) || is_zero(b)) return is_zero(a) ? b : a;
  const Exact& high = a.exponent < b.exponent ? b : a;
  const Exact& low = a.exponent < b.exponent ? a : b;
  const int apart = high.exponent - low.exponent;
  if (apart > 40) {  // low is less than one unit 18 bits below high
    const std::uint64_t n = (high.n << 18) - (high.negative != low.negative ? 1 : 0);
    return {Exact::Kind::finite, high.negative, n, high.exponent - 18, true};
  }
  const auto units = [](std::uint64_t n, bool minus) {
    return minus ? -static_cast<std::int64_t>(n) : static_cast<std::int64_t>(n);
  };
  const std::int64_t n = units(high.n << apart, high.negative) + units(low.n, low.negative);
  return {Exact::Kind::finite, n < 0, static_cast<std::uint64_t>(n < 0 ? -n : n), low.exponent};
}

constexpr Exact product(const Exact& a, const Exact& b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) ? a : b;
  const bool negative = a.negative != b.negative;
  if ((is_infinity(a) && is_zero(b)) || (is_zero(a) && is_infinity(b))) return {Exact::Kind::nan};
  if (is_infinity(a) || is_infinity(b)) return {Exact::Kind::infinity, negative};
  return {Exact::Kind::finite, negative, a.n * b.n, a.exponent + b.exponent};
}

constexpr Exact quotient(const Exact& a, const Exact& b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) ? a : b;
  const bool negative = a.negative != b.negative;
  if ((is_infinity(a) && is_infinity(b)) || (is_zero(a) && is_zero(b))) return {Exact::Kind::nan};
  if (is_infinity(a) || is_zero(b)) return {Exact::Kind::infinity, negative};
  if (is_infinity(b)) return {Exact::Kind::finite, negative};
  const std::uint64_t n = a.n << 40;
  return {Exact::Kind::finite, negative, n / b.n, a.exponent - b.exponent - 40, n % b.n != 0};
}

constexpr Exact root(const Exact& x) {
  if (is_nan(x) || is_zero(x)) return x;
  if (x.negative) return {Exact::Kind::nan};
  if (is_infinity(x)) return x;
  const int shift = x.exponent % 2 == 0 ? 40 : 41;
  const std::uint64_t square = x.n << shift;
  std::uint64_t n = 0;
  for (std::uint64_t bit = kOne << 25; bit != 0; bit >>= 1)
    if ((n | bit) * (n | bit) <= square) n |= bit;
  return {Exact::Kind::finite, false, n, (x.exponent - shift) / 2, n * n != square};
}

template <std::integral Integer>
constexpr Exact whole(Integer value) {
  static_assert(sizeof(Integer) <= 8);
  const bool negative = std::is_signed_v<Integer> && value < Integer{};
  const auto n = static_cast<std::uint64_t>(value);
  return {Exact::Kind::finite, negative, negative ? ~n + 1 : n, 0};
}

}  // namespace detail

// The number format at that place of kFormats.
template <int index>
class Scalar {
  static constexpr const Format& kFormat = kFormats[index];
  static_assert(kFormat.is_floating() && kFormat.bits() <= 16, "a Scalar has fractions and at most 16 bits");
  static constexpr Conversion kDefault = default_conversion(kFormat);
  static_assert(max_finite(kFormat) <= 0x1.FFFFFEp127 && min_subnormal(kFormat) >= 0x1p-149,
                "every Scalar is a float");
  static_assert(kFormat.precision() <= 11, "what the arithmetic above is for");

 public:
  using Code = std::conditional_t<(kFormat.bits() <= 8), std::uint8_t, std::uint16_t>;

  static constexpr const Format& format() { return kFormat; }

  constexpr Scalar() = default;  // code 0: zero, or the smallest number where there is no zero

  // One rounding each: of a double, a float, an integer, another format, or digits (parse_exact). There is
  // none of a long double, which by way of double would be rounded twice.
  constexpr explicit Scalar(double value, const Conversion& conversion = kDefault, std::uint32_t random = 0)
      : Scalar(exact(value), conversion, random) {}
  template <std::same_as<float> Float>
  constexpr explicit Scalar(Float value, const Conversion& conversion = kDefault, std::uint32_t random = 0)
      : Scalar(decode_exact(float32.format(), std::bit_cast<std::uint32_t>(value)), conversion, random) {}
  template <std::integral Integer>
  constexpr explicit Scalar(Integer value, const Conversion& conversion = kDefault, std::uint32_t random = 0)
      : Scalar(detail::whole(value), conversion, random) {}
  template <int other>
  constexpr explicit Scalar(Scalar<other> value, const Conversion& conversion = kDefault,
                            std::uint32_t random = 0)
      : Scalar(decode_exact(value.format(), value.code()), conversion, random) {}
  constexpr explicit Scalar(const Exact& value, const Conversion& conversion = kDefault,
                            std::uint32_t random = 0)
      : code_(static_cast<Code>(encode(kFormat, value, conversion, random))) {}
  template <std::same_as<long double> LongDouble>
  explicit Scalar(LongDouble) = delete;

  static constexpr Scalar from_code(std::uint64_t code) {
    Scalar result;
    result.code_ = static_cast<Code>(code & detail::low_bits(kFormat.bits()));
    return result;
  }
  constexpr Code code() const { return code_; }

  constexpr operator float() const {
    if constexpr (min_subnormal(kFormat) >= 0x1p-126) {
      return static_cast<float>(wide());
    } else if constexpr (kFormat.same_codes(bfloat16.format())) {
      return std::bit_cast<float>(std::uint32_t{code_} << 16);
    } else {  // no subnormal passes through the processor, which may flush it
      return std::bit_cast<float>(
          static_cast<std::uint32_t>(encode(float32.format(), value(), Conversion{})));
    }
  }

  constexpr Scalar operator+() const { return *this; }
  constexpr Scalar operator-() const requires(kFormat.is_signed) { return Scalar(detail::negative(value())); }
  friend constexpr Scalar operator+(Scalar a, Scalar b) { return Scalar(detail::sum(a.value(), b.value())); }
  friend constexpr Scalar operator-(Scalar a, Scalar b) {
    return Scalar(detail::sum(a.value(), detail::negative(b.value())));
  }
  friend constexpr Scalar operator*(Scalar a, Scalar b) {
    return Scalar(detail::product(a.value(), b.value()));
  }
  friend constexpr Scalar operator/(Scalar a, Scalar b) {
    return Scalar(detail::quotient(a.value(), b.value()));
  }
  constexpr Scalar& operator+=(Scalar b) { return *this = *this + b; }
  constexpr Scalar& operator-=(Scalar b) { return *this = *this - b; }
  constexpr Scalar& operator*=(Scalar b) { return *this = *this * b; }
  constexpr Scalar& operator/=(Scalar b) { return *this = *this / b; }

  friend constexpr bool operator==(Scalar a, Scalar b) { return a.wide() == b.wide(); }
  friend constexpr std::partial_ordering operator<=>(Scalar a, Scalar b) { return a.wide() <=> b.wide(); }

  friend constexpr Scalar sqrt(Scalar x) { return Scalar(detail::root(x.value())); }
  friend constexpr Scalar fma(Scalar a, Scalar b, Scalar c) {  // a * b + c, rounded once
    return Scalar(detail::sum(detail::product(a.value(), b.value()), c.value()));
  }

  friend constexpr bool isnan(Scalar x) { return detail::is_nan(x.value()); }
  friend constexpr bool isinf(Scalar x) { return detail::is_infinity(x.value()); }
  friend constexpr bool isfinite(Scalar x) { return !isnan(x) && !isinf(x); }
  friend constexpr bool signbit(Scalar x) { return x.value().negative; }
  friend constexpr Scalar copysign(Scalar x, Scalar sign) requires(kFormat.is_signed) {
    return signbit(x) == signbit(sign) ? x : -x;
  }
  friend constexpr Scalar abs(Scalar x) {
    if constexpr (kFormat.is_signed) return signbit(x) ? -x : x;
    return x;
  }

  // The next number after x on the way to `to`: `to` itself where they are equal, NaN where either is.
  friend constexpr Scalar nextafter(Scalar x, Scalar to) {
    if (isnan(x) || isnan(to)) return isnan(x) ? x : to;
    if (x == to) return to;
    const std::uint64_t sign = detail::is_integer(kFormat) ? 0 : detail::sign_bit(kFormat);
    if (sign != 0 && detail::is_zero(x.value())) return from_code((x > to ? sign : 0) | 1);
    const bool away = (x < to) == ((x.code_ & sign) == 0);
    const Scalar next = from_code(x.code_ + (away ? 1 : ~std::uint64_t{0}));
    return isnan(next) ? Scalar() : next;  // where the code of -0 is the NaN, zero comes before it
  }

 private:
  constexpr Exact value() const { return decode_exact(kFormat, code_); }
  constexpr double wide() const { return decode(kFormat, code_); }

  Code code_ = 0;
};

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
using fixed8m6_t = Scalar<format_index("fixed8m6")>;

}  // namespace halftone

template <int index>
struct std::numeric_limits<halftone::Scalar<index>> {
 private:
  using T = halftone::Scalar<index>;
  static constexpr const halftone::Format& f = T::format();
  static constexpr bool is_fixed = f.specials == halftone::Specials::integer;
  static constexpr bool has_subnormals = f.has_zero && f.mantissa_bits > 0 && !is_fixed;
  static constexpr halftone::Exact largest = halftone::decode_exact(f, halftone::detail::max_code(f));

  static constexpr int floor_log10_of_power_of_2(int n) { return n * 30103 / 100000; }  // n in 0 .. 2135
  static constexpr int floor_log10_of_max() {
    int n = 0;
    for (double power = 10; power <= halftone::max_finite(f); power *= 10) ++n;
    return n;
  }

 public:
  static constexpr bool is_specialized = true, is_signed = f.is_signed, is_integer = false;
  static constexpr bool is_exact = is_fixed;  // as the standard has it for a fixed exponent
  static constexpr bool is_bounded = true, is_modulo = false, traps = false, tinyness_before = false;
  static constexpr bool has_infinity = halftone::has_infinity(f), has_quiet_NaN = halftone::has_nan(f);
  static constexpr bool has_signaling_NaN = false, has_denorm_loss = false;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since C++23
  static constexpr std::float_denorm_style has_denorm =
      has_subnormals ? std::denorm_present : std::denorm_absent;
#pragma GCC diagnostic pop
  // The encoding and arithmetic of IEEE 754, if of another width; as libstdc++ has it for std::bfloat16_t.
  static constexpr bool is_iec559 = f.specials == halftone::Specials::ieee && has_subnormals;
  static constexpr std::float_round_style round_style = std::round_to_nearest;

  static constexpr int radix = 2, digits = f.precision();
  static constexpr int digits10 = floor_log10_of_power_of_2(digits - 1);
  static constexpr int max_digits10 = floor_log10_of_power_of_2(digits) + 2;
  static constexpr int min_exponent = (f.has_zero && !is_fixed ? 2 : 1) - f.bias;
  static constexpr int max_exponent = halftone::detail::width(largest.n) + largest.exponent;
  static constexpr int min_exponent10 = -floor_log10_of_power_of_2(1 - min_exponent);
  static constexpr int max_exponent10 = floor_log10_of_max();

  // The smallest positive normal number; of fixed point the smallest positive one, as of floating point.
  static constexpr T min() noexcept { return T(halftone::min_normal(f)); }
  static constexpr T max() noexcept { return T::from_code(halftone::detail::max_code(f)); }
  static constexpr T lowest() noexcept { return T::from_code(halftone::detail::lowest_code(f)); }
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
  std::size_t operator()(halftone::Scalar<index> x) const noexcept {
    return x == halftone::Scalar<index>() ? 0 : x.code();  // -0 equals 0; other equal numbers have one code
  }
};

#ifdef __cpp_lib_format
template <int index, class Char>
struct std::formatter<halftone::Scalar<index>, Char> : std::formatter<float, Char> {
  auto format(halftone::Scalar<index> x, auto& context) const {
    return std::formatter<float, Char>::format(static_cast<float>(x), context);
  }
};
#endif
