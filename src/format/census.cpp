// SPDX-License-Identifier: Apache-2.0
#include "halftone/census.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

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

std::int64_t Census::*class_of(const Format& format, double value, std::uint64_t code) {
  if (std::isnan(value)) return &Census::nan;
  const Exact result = decode_exact(format, code);
  if (result.kind == Exact::Kind::nan) return &Census::to_nan;
  const double became = detail::nearest_double(result);
  if (became == value) return &Census::exact;
  if (result.kind == Exact::Kind::infinity) return &Census::to_infinity;
  const bool beyond = value > max_finite(format) || value < decode(format, detail::lowest_code(format));
  if (beyond) return &Census::saturated;
  if (became == 0) return &Census::to_zero;
  return std::fabs(became) < min_normal(format) ? &Census::to_subnormal : &Census::rounded;
}

}  // namespace

Census& Census::operator+=(const Census& other) {
  for (const Class& row : kClasses) this->*row.count += other.*row.count;
  for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] += other.exponents[i];
  return *this;
}

void count_conversion(const Format& format, double value, std::uint64_t code, Census& census) {
  ++(census.*class_of(format, value, code));
  if (std::isfinite(value) && value != 0) ++census.at(std::ilogb(value));
}

void count_row(DType dtype, const float* values, const void* codes, std::int64_t count, Census& census) {
  if (simd::covers(dtype.format())) return simd::count_narrow(dtype.format(), values, codes, count, census);
  for (std::int64_t i = 0; i < count; ++i)
    count_conversion(dtype.format(), static_cast<double>(values[i]), load_code(dtype, codes, i), census);
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
  return fmt::format("{} value{}{}{}", with_commas(count), count == 1 ? "" : "s", text.empty() ? "" : ": ", text);
}

}  // namespace halftone
