// SPDX-License-Identifier: Apache-2.0
//
// Chooses the loop for a row: a copy, a plain conversion of C++, the vector loops of rows_simd.h, or, for any
// other row and for doubles, the codec one code at a time.
#include <algorithm>
#include <array>
#include <cstring>

#include "format/rounding_words.h"
#include "format/rows_simd.h"
#include "halftone/census.h"
#include "halftone/conversion.h"
#include "halftone/float_state.h"

namespace halftone {
namespace {

bool is_float32(const Format& format) { return format.same_codes(float32.format()); }

template <class From, class To>
void convert(const void* from, To* to, std::int64_t count) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  const DefaultFloatState state;  // here and below the processor converts between float and double
  for (std::int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

template <class Real>
void decode_codes(DType dtype, const void* codes, Real* values, std::int64_t count) {
  const DefaultFloatState state;
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<Real>(decode(dtype.format(), load_code(dtype, codes, i)));
}

template <class Real>
void encode_codes(DType dtype, const Real* values, void* codes, std::int64_t count,
                  const Conversion& conversion, const std::uint32_t* words) {
  const bool is_default = conversion == default_conversion(dtype.format());
  const DefaultFloatState state;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    store_code(dtype, codes, i,
               is_default ? encode(dtype.format(), value)
                          : encode(dtype.format(), value, conversion, words == nullptr ? 0 : words[i]));
  }
}

void copy(const void* from, void* to, std::int64_t count, std::size_t bytes) {
  if (count > 0) std::memmove(to, from, static_cast<std::size_t>(count) * bytes);
}

// Calls body(begin, count) on pieces that fit a buffer on the stack. They are short, so that the work on one
// and the loads and stores of the next overlap.
constexpr std::int64_t kPiece = 512;

template <class Body>
void in_pieces(std::int64_t count, const Body& body) {
  for (std::int64_t begin = 0; begin < count; begin += kPiece) body(begin, std::min(kPiece, count - begin));
}

void encode_piece(DType dtype, const float* values, void* codes, std::int64_t count,
                  const Conversion& conversion, const std::uint32_t* words) {
  if (is_float32(dtype.format()) && conversion == Conversion{})
    return copy(values, codes, count, sizeof(float));
  if (simd::covers(dtype.format()))
    return simd::encode_narrow(dtype.format(), values, codes, count, conversion, words);
  encode_codes(dtype, values, codes, count, conversion, words);
}

void encode_piece(DType dtype, const double* values, void* codes, std::int64_t count,
                  const Conversion& conversion, const std::uint32_t* words) {
  if (detail::is_double(dtype.format()) && conversion == Conversion{})
    return copy(values, codes, count, sizeof(double));
  encode_codes(dtype, values, codes, count, conversion, words);
}

template <class Real>
void encode_values(DType dtype, const Real* values, void* codes, std::int64_t count,
                   const Conversion& conversion, const RandomWords& random, Census* census) {
  const bool stochastic = conversion.rounding == Rounding::stochastic;
  if (!stochastic && census == nullptr) return encode_piece(dtype, values, codes, count, conversion, nullptr);
  std::array<std::uint32_t, kPiece> words;
  std::array<Real, kPiece> before;  // the values, where the codes go over them
  auto* to = static_cast<unsigned char*>(codes);
  in_pieces(count, [&](std::int64_t begin, std::int64_t size) {
    const RandomWords here{random.seed, random.stream, random.first + static_cast<std::uint64_t>(begin)};
    if (stochastic) rounding_words(here, conversion.random_bits, words.data(), size);
    const Real* from = values + begin;
    if (census != nullptr && static_cast<const void*>(values) == codes)
      from = std::copy_n(from, size, before.data()) - size;
    void* piece = to + begin * dtype.bytes();
    encode_piece(dtype, from, piece, size, conversion, stochastic ? words.data() : nullptr);
    if (census != nullptr) count_row(dtype, from, piece, size, *census);
  });
}

// The exponent field of a float32, but for the ends: 2^-127 is subnormal there, and the last code is NaN.
void decode_powers_of_two(const void* codes, float* values, std::int64_t count) {
  const auto* bytes = static_cast<const unsigned char*>(codes);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t code = bytes[i];
    values[i] = std::bit_cast<float>(code == 0 ? 0x400000u : code == 255 ? 0x7FC00000u : code << 23);
  }
}

// Decoding by table: every format of 8 bits that the vector loops do not cover.
void decode_bytes(DType dtype, const void* codes, float* values, std::int64_t count) {
  std::array<float, 256> table;
  const DefaultFloatState state;
  const std::size_t used = std::size_t{1} << dtype.format().bits();
  for (std::size_t code = 0; code < table.size(); ++code)
    table[code] = static_cast<float>(decode(dtype.format(), code % used));
  const auto* bytes = static_cast<const unsigned char*>(codes);
  for (std::int64_t i = 0; i < count; ++i) values[i] = table[bytes[i]];
}

}  // namespace

void decode_row(DType dtype, const void* codes, float* values, std::int64_t count) {
  const Format& format = dtype.format();
  if (is_float32(format)) return copy(codes, values, count, sizeof(float));
  if (simd::covers(format)) return simd::decode_narrow(format, codes, values, count);
  if (detail::is_double(format)) return convert<double>(codes, values, count);
  if (format.same_codes(uint8.format())) return convert<std::uint8_t>(codes, values, count);
  if (format.same_codes(int32.format())) return convert<std::int32_t>(codes, values, count);
  if (format.same_codes(float8_e8m0fnu.format())) return decode_powers_of_two(codes, values, count);
  if (format.bytes() == 1 && count >= 256) return decode_bytes(dtype, codes, values, count);
  decode_codes(dtype, codes, values, count);
}

void decode_row(DType dtype, const void* codes, double* values, std::int64_t count) {
  const Format& format = dtype.format();
  if (detail::is_double(format)) return copy(codes, values, count, sizeof(double));
  if (is_float32(format)) return convert<float>(codes, values, count);
  if (simd::covers(format)) {
    const DefaultFloatState state;
    return in_pieces(count, [&](std::int64_t begin, std::int64_t size) {
      float piece[kPiece];
      simd::decode_narrow(format, static_cast<const unsigned char*>(codes) + begin * format.bytes(), piece,
                          size);
      std::copy_n(piece, size, values + begin);
    });
  }
  if (format.same_codes(uint8.format())) return convert<std::uint8_t>(codes, values, count);
  if (format.same_codes(int32.format())) return convert<std::int32_t>(codes, values, count);
  decode_codes(dtype, codes, values, count);
}

void encode_row(DType dtype, const float* values, void* codes, std::int64_t count) {
  encode_piece(dtype, values, codes, count, default_conversion(dtype.format()), nullptr);
}

void encode_row(DType dtype, const double* values, void* codes, std::int64_t count) {
  encode_piece(dtype, values, codes, count, default_conversion(dtype.format()), nullptr);
}

void encode_row(DType dtype, const float* values, void* codes, std::int64_t count,
                const Conversion& conversion, const RandomWords& random, Census* census) {
  encode_values(dtype, values, codes, count, conversion, random, census);
}

void encode_row(DType dtype, const double* values, void* codes, std::int64_t count,
                const Conversion& conversion, const RandomWords& random, Census* census) {
  encode_values(dtype, values, codes, count, conversion, random, census);
}

}  // namespace halftone
