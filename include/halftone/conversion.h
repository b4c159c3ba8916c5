// SPDX-License-Identifier: Apache-2.0
//
// How values become codes. A conversion rounds once, from the exact value, under a policy that is stated: the
// rounding, and what overflow, NaN, -0 and subnormals become where the format leaves a choice. No two
// libraries share these choices (docs/formats.md has them side by side), so each is a field here and the
// defaults are printed by `halftone formats`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halftone/format.h"

namespace halftone {

struct Census;

// Definitions as in IEEE P3109 4.7.4. "Even" is the parity of the code.
enum class Rounding : std::uint8_t {
  nearest_even,
  nearest_away,
  toward_zero,
  toward_positive,
  toward_negative,
  to_odd,      // an inexact value goes to the neighbour with the odd code: safe to round again
  stochastic,  // away from zero with probability floor(fraction * 2^random_bits) / 2^random_bits
};
enum class Subnormals : std::uint8_t { keep, flush };    // flush: below min_normal (unrounded) is zero
enum class NegativeZero : std::uint8_t { keep, drop };   // drop: zero has no sign
enum class MissingNan : std::uint8_t { zero, largest };  // what NaN becomes in a format without NaN

// Overflow is decided on the rounded value. toward_zero and to_odd never overflow from a finite value, nor
// does rounding toward the other side; infinity and NaN, where missing, fall back as Overflow says. In a
// format without a sign (or without zero), negative values (or zero) become NaN under Overflow::to_special
// where there is NaN, and the smallest value otherwise.
struct Conversion {
  Rounding rounding = Rounding::nearest_even;
  Overflow overflow = Overflow::to_special;
  Subnormals subnormals = Subnormals::keep;
  NegativeZero negative_zero = NegativeZero::keep;
  MissingNan missing_nan = MissingNan::zero;
  int random_bits = 16;  // of stochastic rounding: 1 to 32; 16 are unbiased from float32 to bfloat16

  friend constexpr bool operator==(const Conversion&, const Conversion&) = default;
};

// The stated default of a format: nearest even, everything kept, overflow as in its row.
constexpr Conversion default_conversion(const Format& format) {
  Conversion conversion;
  conversion.overflow = format.overflow;
  return conversion;
}

// The code of a value. `random` is a uniform word of 32 bits, whose upper random_bits stochastic rounding
// uses.
constexpr std::uint64_t encode(const Format& format, double value);
constexpr std::uint64_t encode(const Format& format, double value, const Conversion& conversion,
                               std::uint32_t random = 0);
constexpr std::uint64_t encode(const Format& format, const Exact& value, const Conversion& conversion,
                               std::uint32_t random = 0);

// The code of what a text says, rounded once from its digits: decimal ("0.1", "-1e-400"), hexadecimal
// ("0x1.8p-3"), inf or nan with an optional sign. Throws ValueError where the text is something else.
Exact parse_exact(std::string_view text);
std::uint64_t encode(const Format& format, std::string_view text);

// The random numbers of a row (random.h): of up to 16 random bits, element i takes the half word first + i of
// (seed, stream), lower halves first, as the upper half of `random` above; of more, the word first + i. Rows
// converted in pieces, in any order and by any thread, give the bits of the whole.
struct RandomWords {
  std::uint64_t seed = 0, stream = 0, first = 0;
};

// Whole rows: `codes` holds count elements of the format, at any alignment. Vectorised for the formats that
// float32 holds and chosen at run time by the processor; every path gives the bits of decode and encode above
// (NaN payloads excepted), whatever the state of the processor. encode_row may work in place: `codes` may be
// the address of `values`, whose front it then overwrites. `census` counts what happened.
void decode_row(DType dtype, const void* codes, float* values, std::int64_t count);
void decode_row(DType dtype, const void* codes, double* values, std::int64_t count);
void encode_row(DType dtype, const float* values, void* codes, std::int64_t count);
void encode_row(DType dtype, const double* values, void* codes, std::int64_t count);
void encode_row(DType dtype, const float* values, void* codes, std::int64_t count,
                const Conversion& conversion, const RandomWords& random = {}, Census* census = nullptr);
void encode_row(DType dtype, const double* values, void* codes, std::int64_t count,
                const Conversion& conversion, const RandomWords& random = {}, Census* census = nullptr);

// Names as in the enumerations ("nearest_even", "to_special"), for the command line and records. The parsers
// throw ValueError that lists the names.
std::string_view name(Rounding rounding);
std::string_view name(Overflow overflow);
Rounding parse_rounding(std::string_view text);
Overflow parse_overflow(std::string_view text);
std::string describe(const Conversion& conversion);  // "nearest_even, overflow to_special, subnormals kept"

}  // namespace halftone

#include "halftone/conversion_codec.h"
