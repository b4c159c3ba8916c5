// SPDX-License-Identifier: Apache-2.0
//
// What bits mean. A number format is one row of data; codec, limits, tests, command line and report are all
// derived from the row. Facts about the formats: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0;
// OCP Microscaling Formats 1.0; IEEE P3109 Interim Report 4.0. How values become codes is in conversion.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace halftone {

// Which codes are not finite numbers. "Largest codes" are those of largest magnitude.
enum class Specials : std::uint8_t {
  ieee,      // exponent all ones: infinity (mantissa 0) or NaN
  nan_only,  // the largest code is NaN (both, where there is a sign), no infinity ("fn")
  nan_zero,  // the code of -0 is the only NaN, no infinity, one zero ("fnuz")
  extended,  // P3109: one zero, one NaN (the code of -0; without a sign the largest code), the next is
             // infinity
  none,      // every code is a finite number
  integer,   // two's complement, or without a sign plain binary, in units of 2^-bias
};

// What a finite value beyond the largest becomes, and an infinity. NaN stands in for a missing infinity, the
// largest finite value for a missing NaN.
enum class Overflow : std::uint8_t {
  to_special,     // infinity
  saturate,       // the largest finite value, for infinities too
  keep_infinity,  // the largest finite value; infinities stay infinities
};

struct Format {
  std::string_view name;
  int exponent_bits;  // 0 in an integer
  int mantissa_bits;  // stored fraction bits, without the hidden one; in an integer all bits but the sign
  int bias;
  Specials specials;
  bool is_signed = true;
  bool has_zero = true;                      // false: exponent 0 is a binade like the others, as in a scale
  Overflow overflow = Overflow::to_special;  // of a conversion that does not say otherwise

  constexpr bool is_floating() const { return specials != Specials::integer || bias != 0; }  // has fractions
  constexpr int bits() const { return (is_signed ? 1 : 0) + exponent_bits + mantissa_bits; }
  constexpr int precision() const {  // significand bits with the hidden one
    return specials == Specials::integer ? mantissa_bits : mantissa_bits + 1;
  }
  // Of one element of a tensor. Formats of fewer than 8 bits take a byte (blocks pack them, see block.h);
  // those of 17 to 31 bits lie in the high bits of a word, so that a tfloat32 is a float32 too.
  constexpr int bytes() const { return bits() <= 8 ? 1 : bits() <= 16 ? 2 : bits() <= 32 ? 4 : 8; }

  // The same codes mean the same values.
  constexpr bool same_codes(const Format& other) const {
    return exponent_bits == other.exponent_bits && mantissa_bits == other.mantissa_bits &&
           bias == other.bias && specials == other.specials && is_signed == other.is_signed &&
           has_zero == other.has_zero;
  }
  friend constexpr bool operator==(const Format& a, const Format& b) {
    return &a == &b || (a.same_codes(b) && a.overflow == b.overflow && a.name == b.name);
  }
};

// clang-format off
inline constexpr Format kFormats[] = {
    // name              exponent mantissa  bias  specials
    {"float64",                11,      52, 1023, Specials::ieee},
    {"float32",                 8,      23,  127, Specials::ieee},
    {"tfloat32",                8,      10,  127, Specials::ieee},
    {"float16",                 5,      10,   15, Specials::ieee},
    {"bfloat16",                8,       7,  127, Specials::ieee},
    {"float8_e4m3fn",           4,       3,    7, Specials::nan_only},
    {"float8_e5m2",             5,       2,   15, Specials::ieee},
    {"float8_e4m3",             4,       3,    7, Specials::ieee},
    {"float8_e3m4",             3,       4,    3, Specials::ieee},
    {"float8_e4m3fnuz",         4,       3,    8, Specials::nan_zero},
    {"float8_e5m2fnuz",         5,       2,   16, Specials::nan_zero},
    {"float8_e4m3b11fnuz",      4,       3,   11, Specials::nan_zero},
    {"float6_e3m2fn",           3,       2,    3, Specials::none},
    {"float6_e2m3fn",           2,       3,    1, Specials::none},
    {"float4_e2m1fn",           2,       1,    1, Specials::none},
    {"float8_e8m0fnu",          8,       0,  127, Specials::nan_only, false, false},
    {"fixed8m6",                0,       7,    6, Specials::integer},  // the element of MXINT8
    {"int64",                   0,      63,    0, Specials::integer},
    {"int32",                   0,      31,    0, Specials::integer},
    {"uint8",                   0,       8,    0, Specials::integer, false},
};
// clang-format on

// The element format of a tensor: a handle to a row, in the table, made from a name (find_dtype), or in a
// program of its own (which must outlive every tensor of that format). Two rows with the same name and the
// same fields are one format.
class DType {
 public:
  constexpr explicit DType(const Format* row) : row_(row) {}
  constexpr const Format& format() const { return *row_; }
  constexpr std::string_view name() const { return row_->name; }
  constexpr int bytes() const { return row_->bytes(); }
  constexpr bool is_floating() const { return row_->is_floating(); }
  friend constexpr bool operator==(DType a, DType b) { return *a.row_ == *b.row_; }

 private:
  const Format* row_;
};

// The place of a name in kFormats, and its format. Both are checked at compile time: an unknown name does not
// compile.
consteval int format_index(std::string_view name) {
  for (int i = 0; i < static_cast<int>(sizeof(kFormats) / sizeof(kFormats[0])); ++i)
    if (kFormats[i].name == name) return i;
  throw "there is no format of that name in kFormats";
}
consteval DType dtype(std::string_view name) { return DType(&kFormats[format_index(name)]); }

inline constexpr DType float64 = dtype("float64");
inline constexpr DType float32 = dtype("float32");
inline constexpr DType tfloat32 = dtype("tfloat32");
inline constexpr DType float16 = dtype("float16");
inline constexpr DType bfloat16 = dtype("bfloat16");
inline constexpr DType float8_e4m3fn = dtype("float8_e4m3fn");
inline constexpr DType float8_e5m2 = dtype("float8_e5m2");
inline constexpr DType float6_e3m2fn = dtype("float6_e3m2fn");
inline constexpr DType float6_e2m3fn = dtype("float6_e2m3fn");
inline constexpr DType float4_e2m1fn = dtype("float4_e2m1fn");
inline constexpr DType float8_e8m0fnu = dtype("float8_e8m0fnu");
inline constexpr DType int64 = dtype("int64");
inline constexpr DType int32 = dtype("int32");
inline constexpr DType uint8 = dtype("uint8");

// The row that a systematic name describes, if it is one (the row's name views the text given):
//   [u]e<X>m<Y>[b<bias>][fn|fnuz|finite]   X <= 11 exponent and Y <= 52 mantissa bits, at most 64 in all;
//   IEEE
//                                          specials unless a suffix says otherwise; u: without a sign
//   binary<K>p<P><s|u><e|f>                IEEE P3109: K = 3..16 bits, precision P, signed or unsigned,
//                                          extended or finite
//   int<K>, uint<K>, fixed<K>m<F>          K <= 64 bits; fixed: in units of 2^-F
std::optional<Format> parse_format(std::string_view name);

// The format of that name: a row of the table, or one made from a systematic name and kept for good. Throws
// DTypeError that lists the names there are. May be called from any thread.
DType find_dtype(std::string_view name);

// The smallest format of the table that holds every value of both (float16 with bfloat16 -> float32).
DType promote(DType a, DType b);

// Limits, derived from the row, as the nearest double (a P3109 format of 16 bits can reach beyond).
constexpr double max_finite(const Format& format);
constexpr double min_normal(const Format& format);
constexpr double min_subnormal(const Format& format);  // the smallest positive value, normal or not
constexpr double epsilon(const Format& format);        // spacing just above 1
constexpr bool has_infinity(const Format& format);
constexpr bool has_nan(const Format& format);
constexpr bool has_negative_zero(const Format& format);

// One element of a row of codes: reads and writes the code, right-aligned.
std::uint64_t load_code(DType dtype, const void* codes, std::int64_t index);
void store_code(DType dtype, void* codes, std::int64_t index, std::uint64_t code);

}  // namespace halftone

#include "halftone/format_codec.h"
