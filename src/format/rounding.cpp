// SPDX-License-Identifier: Apache-2.0
//
// Chooses how a row is rounded: by the vector loops of rounding_simd.h, or by making codes and reading them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "format/rounding_simd.h"
#include "format/rounding_words.h"
#include "format/rows_simd.h"
#include "halftone/float_state.h"
#include "halftone/rounding.h"

namespace halftone {
namespace {

constexpr std::int64_t kPiece = 512;

void by_codes(DType format, const RowPair& rows, std::int64_t count, const Conversion& conversion,
              const RandomWords& random, float up, float down) {
  std::array<float, kPiece> scaled, rounded;
  std::array<std::byte, 8 * kPiece> codes;
  decode_row(rows.from, rows.values, scaled.data(), count);
  for (std::int64_t i = 0; i < count; ++i) scaled[static_cast<std::size_t>(i)] *= up;
  encode_row(format, scaled.data(), codes.data(), count, conversion, random);
  decode_row(format, codes.data(), rounded.data(), count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    rounded[i] = std::isfinite(scaled[i]) ? rounded[i] * down : std::numeric_limits<float>::quiet_NaN();
  encode_row(rows.to, rounded.data(), rows.rounded, count);
}

}  // namespace

RowPair RowPair::at(std::int64_t element) const {
  return {from, static_cast<const std::byte*>(values) + element * from.bytes(), to,
          static_cast<std::byte*>(rounded) + element * to.bytes()};
}

void round_row(DType format, const RowPair& rows, std::int64_t count, const Conversion& conversion,
               const RandomWords& random, float up, float down) {
  const DefaultFloatState state;
  const bool covered = simd::covers(format.format()) && simd::reads_and_writes(rows);
  const simd::Layout layout = covered ? simd::layout_for(format.format(), conversion) : simd::Layout();
  const bool has_loop = covered && layout.fits_rounding();
  const bool is_random = conversion.rounding == Rounding::stochastic;
  if (has_loop && !is_random) return simd::round_values(layout, rows, count, nullptr, up, down);
  std::array<std::uint32_t, kPiece> words;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    const RandomWords here{random.seed, random.stream, random.first + static_cast<std::uint64_t>(begin)};
    if (!has_loop) {
      by_codes(format, rows.at(begin), size, conversion, here, up, down);
      continue;
    }
    rounding_words(here, conversion.random_bits, words.data(), size);
    simd::round_values(layout, rows.at(begin), size, words.data(), up, down);
  }
}

}  // namespace halftone
