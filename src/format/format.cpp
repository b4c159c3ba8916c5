// SPDX-License-Identifier: Apache-2.0
#include "halftone/format.h"

#include <cstring>

namespace halftone {
namespace {

// True if every value of `inner` is a value of `outer`: enough significand, enough range at both ends, and
// the same special values.
bool holds(const Format& outer, const Format& inner) {
  if (outer == inner) return true;
  if (outer.is_signed < inner.is_signed || outer.has_zero < inner.has_zero) return false;
  if (!detail::is_integer(outer) && outer.precision() < inner.precision()) return false;
  const Exact last = decode_exact(outer, detail::max_code(outer)),
              need = decode_exact(inner, detail::max_code(inner)),
              lowest = decode_exact(inner, detail::lowest_code(inner));  // in two's complement one further
  const auto top = [](const Exact& x) { return x.exponent + detail::width(x.n); };
  if (detail::is_integer(outer)) {
    return detail::is_integer(inner) && detail::least_exponent(outer) <= detail::least_exponent(inner) &&
           top(last) >= top(need);
  }
  const bool reaches =
      top(last) > top(need) || (top(last) == top(need) && max_finite(outer) >= max_finite(inner));
  return reaches && top(last) >= top(lowest) &&
         detail::least_exponent(outer) <= detail::least_exponent(inner) && has_nan(outer) >= has_nan(inner) &&
         has_infinity(outer) >= has_infinity(inner) && has_negative_zero(outer) >= has_negative_zero(inner);
}

// Where the code lies in its element: formats of 17 to 31 bits fill a word from the top.
int unused_bits(const Format& format) {
  const int bits = format.bits();
  return bits > 16 && bits < 32 ? 32 - bits : 0;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Format* best = nullptr;
  const auto consider = [&](const Format& row) {
    if (best != nullptr && row.bytes() >= best->bytes()) return;
    if (holds(row, a.format()) && holds(row, b.format())) best = &row;
  };
  consider(a.format());  // the two themselves first: either may be a row of the caller's own
  consider(b.format());
  for (const Format& row : kFormats) consider(row);
  return best == nullptr ? float64 : DType(best);
}

std::uint64_t load_code(DType dtype, const void* codes, std::int64_t index) {
  const int bytes = dtype.bytes();
  const auto* from = static_cast<const unsigned char*>(codes) + index * bytes;
  std::uint64_t code = 0;
  std::memcpy(&code, from, static_cast<std::size_t>(bytes));  // little-endian, as are the files
  return code >> unused_bits(dtype.format());
}

void store_code(DType dtype, void* codes, std::int64_t index, std::uint64_t code) {
  const int bytes = dtype.bytes();
  auto* to = static_cast<unsigned char*>(codes) + index * bytes;
  code <<= unused_bits(dtype.format());
  std::memcpy(to, &code, static_cast<std::size_t>(bytes));
}

}  // namespace halftone
