// SPDX-License-Identifier: Apache-2.0
//
// What bits mean. A number format is one row of data; the codec below and everything else (limits, tests,
// command line, report) is derived from the row. Encoding rounds once, from a double, to nearest even; it
// uses integers only, so it is constexpr and independent of the rounding state of the processor. Facts about
// the formats: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace halftone {

// What the codes with the largest exponent mean.
enum class Specials : std::uint8_t {
  ieee,      // exponent all ones: infinity (mantissa 0) or NaN
  nan_only,  // exponent and mantissa all ones is NaN, no infinity ("fn")
  nan_zero,  // the code of -0 is the only NaN, no infinity, one zero ("fnuz")
  none,      // every code is a finite number
  integer,   // two's complement or unsigned integer of mantissa_bits (+ sign if exponent_bits is -1)
};

struct Format {
  std::string_view name;
  int exponent_bits;
  int mantissa_bits;  // stored fraction bits, without the hidden one
  int bias;
  Specials specials;

  constexpr bool is_floating() const { return specials != Specials::integer; }
  constexpr bool is_signed() const { return specials != Specials::integer || exponent_bits == -1; }
  constexpr int bits() const {
    return is_floating() ? 1 + exponent_bits + mantissa_bits : mantissa_bits + is_signed();
  }
  constexpr int precision() const { return mantissa_bits + 1; }  // significand bits with the hidden one
  constexpr int bytes() const { return bits() <= 8 ? 1 : bits() <= 16 ? 2 : bits() <= 32 ? 4 : 8; }
};

// clang-format off
inline constexpr Format kFormats[] = {
    // name          exponent mantissa  bias  specials
    {"float64",            11,      52, 1023, Specials::ieee},
    {"float32",             8,      23,  127, Specials::ieee},
    {"float16",             5,      10,   15, Specials::ieee},
    {"bfloat16",            8,       7,  127, Specials::ieee},
    {"float8_e4m3fn",       4,       3,    7, Specials::nan_only},
    {"float8_e5m2",         5,       2,   15, Specials::ieee},
    {"int64",              -1,      63,    0, Specials::integer},
    {"int32",              -1,      31,    0, Specials::integer},
    {"uint8",               0,       8,    0, Specials::integer},
};
// clang-format on

// The element format of a tensor: a handle to a row, in the table or in a program of its own (which must
// outlive every tensor of that format).
class DType {
 public:
  constexpr explicit DType(const Format* row) : row_(row) {}
  constexpr const Format& format() const { return *row_; }
  constexpr std::string_view name() const { return row_->name; }
  constexpr int bytes() const { return row_->bytes(); }
  constexpr bool is_floating() const { return row_->is_floating(); }
  friend constexpr bool operator==(DType a, DType b) { return a.row_ == b.row_; }

 private:
  const Format* row_;
};

// dtype("float16") is checked at compile time: an unknown name does not compile.
consteval DType dtype(std::string_view name) {
  for (const Format& row : kFormats)
    if (row.name == name) return DType(&row);
  throw "there is no format of that name in kFormats";
}

inline constexpr DType float64 = dtype("float64");
inline constexpr DType float32 = dtype("float32");
inline constexpr DType float16 = dtype("float16");
inline constexpr DType bfloat16 = dtype("bfloat16");
inline constexpr DType float8_e4m3fn = dtype("float8_e4m3fn");
inline constexpr DType float8_e5m2 = dtype("float8_e5m2");
inline constexpr DType int64 = dtype("int64");
inline constexpr DType int32 = dtype("int32");
inline constexpr DType uint8 = dtype("uint8");

// The format of that name, looked up at run time. Throws DTypeError listing the names there are.
DType find_dtype(std::string_view name);

// The value of a code. Exact for every format here (int64 beyond 2^53 rounds to nearest even).
constexpr double decode(const Format& format, std::uint64_t code);

// The code of the nearest value, ties to even. Overflow goes to infinity, or to NaN where there is none
// (`nan_only`, `nan_zero`), or to the largest finite value where there is neither (`none`, `integer`).
// NaN in a format without NaN becomes zero.
constexpr std::uint64_t encode(const Format& format, double value);

// Limits, derived from the row.
constexpr double max_finite(const Format& format);
constexpr double min_normal(const Format& format);
constexpr double min_subnormal(const Format& format);
constexpr double epsilon(const Format& format);  // spacing just above 1

// The smallest format of the table that holds every value of both (float16 with bfloat16 -> float32).
DType promote(DType a, DType b);

// Whole rows: `codes` holds count elements of the format, at any alignment. float32 <-> float16 and bfloat16
// run vectorised, chosen at run time by the processor; every path gives the bits of decode and encode above
// (NaN payloads excepted).
void decode_row(DType dtype, const void* codes, float* values, std::int64_t count);
void encode_row(DType dtype, const float* values, void* codes, std::int64_t count);
void decode_row(DType dtype, const void* codes, double* values, std::int64_t count);
void encode_row(DType dtype, const double* values, void* codes, std::int64_t count);

// One code of a row.
std::uint64_t load_code(DType dtype, const void* codes, std::int64_t index);
void store_code(DType dtype, void* codes, std::int64_t index, std::uint64_t code);

}  // namespace halftone

#include "halftone/format_codec.h"
