// SPDX-License-Identifier: Apache-2.0
#include "cli/number_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace halftone::cli {
namespace {

constexpr std::string_view kClasses[] = {"normal",   "subnormal", "zero",    "negative zero",
                                         "infinity", "NaN",       "integer", "fixed point"};

// The place of a floating code in the order of the values: zero is at zero.
std::int64_t place(const Format& format, std::uint64_t code) {
  const auto magnitude = static_cast<std::int64_t>(code & ~detail::sign_bit(format));
  return (code & detail::sign_bit(format)) != 0 ? -magnitude : magnitude;
}

std::uint64_t code_at(const Format& format, std::int64_t place) {
  const auto magnitude = static_cast<std::uint64_t>(place < 0 ? -place : place);
  return place < 0 ? detail::sign_bit(format) | magnitude : magnitude;
}

}  // namespace

std::string Number::hex() const { return fmt::format("0x{:0{}x}", code, (format().bits() + 3) / 4); }

NumberClass class_of(const Number& x) {
  const Exact value = x.value();
  if (value.kind == Exact::Kind::nan) return NumberClass::nan;
  if (value.kind == Exact::Kind::infinity) return NumberClass::infinity;
  if (value.n == 0) return value.negative ? NumberClass::negative_zero : NumberClass::zero;
  if (!x.format().is_floating()) return NumberClass::integer;
  if (detail::is_integer(x.format())) return NumberClass::fixed_point;
  return value.n >> x.format().mantissa_bits == 0 ? NumberClass::subnormal : NumberClass::normal;
}

std::string_view name(NumberClass of) { return kClasses[static_cast<std::size_t>(of)]; }

std::optional<Number> neighbour(const Number& x, int step) {
  const Format& format = x.format();
  if (class_of(x) == NumberClass::nan) return std::nullopt;
  if (detail::is_integer(format)) {  // all 64 bits of the place may be in use
    if (x.code == (step > 0 ? detail::max_code(format) : detail::lowest_code(format))) return std::nullopt;
    return Number{
        x.dtype, (x.code + static_cast<std::uint64_t>(std::int64_t{step})) & detail::low_bits(format.bits())};
  }
  const auto end = static_cast<std::int64_t>(detail::max_code(format)) + (has_infinity(format) ? 1 : 0);
  const std::int64_t next = place(format, x.code) + step;
  if (next > end || next < (format.is_signed ? -end : 0)) return std::nullopt;
  return Number{x.dtype, code_at(format, next)};
}

std::optional<int> spacing_exponent(const Number& x, const Number& other) {
  const Exact a = x.value(), b = other.value();
  if (a.kind != Exact::Kind::finite || b.kind != Exact::Kind::finite) return std::nullopt;
  // Neighbours' last places are at most one binade apart; the difference may wrap, it is small.
  const int unit = std::min(a.exponent, b.exponent);
  const auto scaled = [unit](const Exact& v) {
    const std::uint64_t n = v.n << (v.exponent - unit);
    return v.negative ? ~n + 1 : n;
  };
  const std::uint64_t difference = scaled(a) - scaled(b), back = ~difference + 1;
  return unit + std::countr_zero(std::min(difference, back));
}

int top_exponent(const Exact& x) { return x.exponent + detail::width(x.n) - 1; }

int compare_magnitudes(const Exact& a, const Exact& b) {
  const auto rank = [](const Exact& x) {  // zero, then finite, then infinite
    return x.kind == Exact::Kind::infinity ? 2 : x.n != 0 || x.more ? 1 : 0;
  };
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (rank(a) != 1 || rank(b) != 1) return order(rank(a), rank(b));
  if (a.n == 0 || b.n == 0) return order(a.n != 0, b.n != 0);  // less than anything, but not zero
  if (top_exponent(a) != top_exponent(b)) return order(top_exponent(a), top_exponent(b));
  const std::uint64_t first = a.n << std::countl_zero(a.n), second = b.n << std::countl_zero(b.n);
  return first != second ? order(first, second) : order(a.more, b.more);
}

bool same_value(const Exact& a, const Exact& b) {
  if (a.kind == Exact::Kind::nan || b.kind == Exact::Kind::nan || compare_magnitudes(a, b) != 0) return false;
  return a.negative == b.negative || (a.kind == Exact::Kind::finite && a.n == 0 && !a.more);
}

Exact largest(const Format& format) { return decode_exact(format, detail::max_code(format)); }
Exact smallest(const Format& format) { return decode_exact(format, format.has_zero ? 1 : 0); }
Exact smallest_normal(const Format& format) {
  const bool even = detail::is_integer(format) || !format.has_zero;
  return even ? smallest(format) : decode_exact(format, detail::kOne << format.mantissa_bits);
}

bool is_within(const Format& format, int precision, int least, int most) {
  return format.precision() <= precision && detail::least_exponent(format) >= least &&
         top_exponent(largest(format)) <= most;
}

}  // namespace halftone::cli
