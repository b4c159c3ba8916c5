// SPDX-License-Identifier: Apache-2.0
#include "halftone/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "format/census_simd.h"
#include "format/rows_simd.h"
#include "halftone/conversion.h"

namespace halftone {
namespace {

struct Class {
  std::int64_t Census::*count;
  std::string_view name;
};
constexpr Class kClasses[] = {{&Census::exact, "exact"},
                              {&Census::rounded, "rounded"},
                              {&Census::to_subnormal, "to subnormal"},
                              {&Census::to_zero, "to zero"},
                              {&Census::saturated, "saturated"},
                              {&Census::to_infinity, "to infinity"},
                              {&Census::to_nan, "to NaN"},
                              {&Census::nan, "NaN"}};

std::string with_commas(std::int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// Of numbers taken apart, not as doubles: a format may reach beyond those, and the processor may be flushing
// subnormals.
bool less_magnitude(const Exact& a, const Exact& b) {
  using Kind = Exact::Kind;
  if (a.kind == Kind::infinity || b.kind == Kind::infinity)
    return a.kind != b.kind && b.kind == Kind::infinity;
  if (a.n == 0 || b.n == 0) return a.n == 0 && b.n != 0;
  const int width_a = detail::width(a.n), width_b = detail::width(b.n);
  if (a.exponent + width_a != b.exponent + width_b) return a.exponent + width_a < b.exponent + width_b;
  return a.n << (64 - width_a) < b.n << (64 - width_b);
}

bool is_zero(const Exact& x) { return x.kind == Exact::Kind::finite && x.n == 0; }

bool less(const Exact& a, const Exact& b) {
  if (is_zero(a) && is_zero(b)) return false;
  if (a.negative != b.negative) return a.negative;
  return a.negative ? less_magnitude(b, a) : less_magnitude(a, b);
}

std::int64_t Census::*class_of(const Format& format, const Exact& value, std::uint64_t code) {
  if (value.kind == Exact::Kind::nan) return &Census::nan;
  const Exact result = decode_exact(format, code);
  if (result.kind == Exact::Kind::nan) return &Census::to_nan;
  if (!less(value, result) && !less(result, value)) return &Census::exact;
  if (result.kind == Exact::Kind::infinity) return &Census::to_infinity;
  if (less(decode_exact(format, detail::max_code(format)), value) ||
      less(value, decode_exact(format, detail::lowest_code(format))))
    return &Census::saturated;
  if (result.n == 0) return &Census::to_zero;
  const bool is_normal =
      detail::is_integer(format) || !format.has_zero || (result.n >> format.mantissa_bits) != 0;
  return is_normal ? &Census::rounded : &Census::to_subnormal;
}

void count_exact(const Format& format, const Exact& value, std::uint64_t code, Census& census) {
  ++(census.*class_of(format, value, code));
  if (value.kind == Exact::Kind::finite && value.n != 0)
    ++census.at(std::clamp(value.exponent + detail::width(value.n) - 1, Census::kLowest, Census::kHighest));
}

}  // namespace

Census& Census::operator+=(const Census& other) {
  for (const Class& row : kClasses) this->*row.count += other.*row.count;
  for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] += other.exponents[i];
  return *this;
}

void count_conversion(const Format& format, double value, std::uint64_t code, Census& census) {
  count_exact(format, exact(value), code, census);
}

void count_conversion(const Format& format, const Exact& value, std::uint64_t code, Census& census) {
  count_exact(format, value, code, census);
}

void count_row(DType dtype, const float* values, const void* codes, std::int64_t count, Census& census) {
  if (simd::covers(dtype.format())) return simd::count_narrow(dtype.format(), values, codes, count, census);
  for (std::int64_t i = 0; i < count; ++i) {
    const Exact value = decode_exact(float32.format(), std::bit_cast<std::uint32_t>(values[i]));
    count_exact(dtype.format(), value, load_code(dtype, codes, i), census);
  }
}

void count_row(DType dtype, const double* values, const void* codes, std::int64_t count, Census& census) {
  for (std::int64_t i = 0; i < count; ++i)
    count_conversion(dtype.format(), values[i], load_code(dtype, codes, i), census);
}

std::string describe(const Census& census) {
  std::string text;
  for (const Class& row : kClasses)
    if (census.*row.count != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", with_commas(census.*row.count), row.name);
  const std::int64_t count = census.count();
  return fmt::format("{} value{}{}{}", with_commas(count), count == 1 ? "" : "s", text.empty() ? "" : ": ",
                     text);
}

}  // namespace halftone
