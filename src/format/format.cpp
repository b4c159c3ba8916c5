// SPDX-License-Identifier: Apache-2.0
#include "halftone/format.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "halftone/error.h"

namespace halftone {
namespace {

// True if every value of `inner` is a value of `outer`: enough significand, enough range at both ends, and
// the same special values.
bool holds(const Format& outer, const Format& inner) {
  if (&outer == &inner) return true;
  if (!outer.is_floating()) {
    return !inner.is_floating() && outer.is_signed() >= inner.is_signed() &&
           outer.mantissa_bits >= inner.mantissa_bits;
  }
  const int precision = inner.is_floating() ? inner.precision() : inner.mantissa_bits;
  return outer.precision() >= precision && max_finite(outer) >= max_finite(inner) &&
         min_subnormal(outer) <= min_subnormal(inner) && detail::has_nan(outer) >= detail::has_nan(inner) &&
         detail::has_infinity(outer) >= detail::has_infinity(inner);
}

}  // namespace

DType find_dtype(std::string_view name) {
  for (const Format& row : kFormats)
    if (row.name == name) return DType(&row);
  std::string names;
  for (const Format& row : kFormats) names += fmt::format("{}{}", names.empty() ? "one of " : ", ", row.name);
  throw DTypeError("format", fmt::format("\"{}\"", name), names);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Format* best = nullptr;
  const auto consider = [&](const Format& row) {
    const bool fits = holds(row, a.format()) && holds(row, b.format());
    if (fits && (best == nullptr || row.bits() < best->bits())) best = &row;
  };
  consider(a.format());  // either may be a row of the caller's own
  consider(b.format());
  for (const Format& row : kFormats) consider(row);
  return best == nullptr ? float64 : DType(best);
}

std::uint64_t load_code(DType dtype, const void* codes, std::int64_t index) {
  const int bytes = dtype.bytes();
  const auto* from = static_cast<const unsigned char*>(codes) + index * bytes;
  std::uint64_t code = 0;
  std::memcpy(&code, from, static_cast<std::size_t>(bytes));  // little-endian, as are the files
  return code;
}

void store_code(DType dtype, void* codes, std::int64_t index, std::uint64_t code) {
  const int bytes = dtype.bytes();
  auto* to = static_cast<unsigned char*>(codes) + index * bytes;
  std::memcpy(to, &code, static_cast<std::size_t>(bytes));
}

}  // namespace halftone
