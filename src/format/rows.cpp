// SPDX-License-Identifier: Apache-2.0
//
// Chooses the loop for a row: a copy, a plain conversion of C++, the vector loops of rows_simd.h, or, for any
// other row and for doubles, the codec one code at a time.
#include <algorithm>
#include <cstring>
#include <limits>

#include "format/rows_simd.h"
#include "halftone/format.h"

namespace halftone {
namespace {

bool same_layout(const Format& a, const Format& b) {
  return a.exponent_bits == b.exponent_bits && a.mantissa_bits == b.mantissa_bits && a.bias == b.bias &&
         a.specials == b.specials;
}

bool is_float32(const Format& format) { return same_layout(format, float32.format()); }

template <class From, class To>
void convert(const void* from, To* to, std::int64_t count) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (std::int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

template <class Real>
void decode_codes(DType dtype, const void* codes, Real* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<Real>(decode(dtype.format(), load_code(dtype, codes, i)));
}

template <class Real>
void encode_codes(DType dtype, const Real* values, void* codes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) store_code(dtype, codes, i, encode(dtype.format(), values[i]));
}

void copy(const void* from, void* to, std::int64_t count, std::size_t bytes) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * bytes);
}

// Calls body(begin, count) on pieces that fit a buffer on the stack.
constexpr std::int64_t kPiece = 256;

template <class Body>
void in_pieces(std::int64_t count, const Body& body) {
  for (std::int64_t begin = 0; begin < count; begin += kPiece) body(begin, std::min(kPiece, count - begin));
}

}  // namespace

void decode_row(DType dtype, const void* codes, float* values, std::int64_t count) {
  const Format& format = dtype.format();
  if (is_float32(format)) return copy(codes, values, count, sizeof(float));
  if (simd::covers(format)) return simd::decode_narrow(format, codes, values, count);
  if (detail::is_double(format)) return convert<double>(codes, values, count);
  if (same_layout(format, uint8.format())) return convert<std::uint8_t>(codes, values, count);
  if (same_layout(format, int32.format())) return convert<std::int32_t>(codes, values, count);
  decode_codes(dtype, codes, values, count);
}

void encode_row(DType dtype, const float* values, void* codes, std::int64_t count) {
  const Format& format = dtype.format();
  if (is_float32(format)) return copy(values, codes, count, sizeof(float));
  if (simd::covers(format)) return simd::encode_narrow(format, values, codes, count);
  encode_codes(dtype, values, codes, count);
}

void decode_row(DType dtype, const void* codes, double* values, std::int64_t count) {
  const Format& format = dtype.format();
  if (detail::is_double(format)) return copy(codes, values, count, sizeof(double));
  if (is_float32(format)) return convert<float>(codes, values, count);
  if (simd::covers(format)) {
    return in_pieces(count, [&](std::int64_t begin, std::int64_t size) {
      float piece[kPiece];
      simd::decode_narrow(format, static_cast<const unsigned char*>(codes) + begin * format.bytes(), piece,
                          size);
      std::copy_n(piece, size, values + begin);
    });
  }
  if (same_layout(format, uint8.format())) return convert<std::uint8_t>(codes, values, count);
  if (same_layout(format, int32.format())) return convert<std::int32_t>(codes, values, count);
  decode_codes(dtype, codes, values, count);
}

void encode_row(DType dtype, const double* values, void* codes, std::int64_t count) {
  if (detail::is_double(dtype.format())) return copy(values, codes, count, sizeof(double));
  encode_codes(dtype, values, codes, count);
}

}  // namespace halftone
