// SPDX-License-Identifier: Apache-2.0
//
// The vector loops that round to the numbers of a format and make no codes. Those that round REQUIRE
// Layout::fits_rounding and a format that rows_simd.h covers. Rows are read and written as float32 or
// bfloat16. `words` has a random word for each value where the rounding is stochastic, and is null otherwise.
#pragma once

#include <cstdint>

#include "format/layout.h"
#include "halftone/rounding.h"

namespace halftone::simd {

bool reads_and_writes(const RowPair& rows);  // the two formats

// As halftone::round_row.
void round_values(const Layout& layout, const RowPair& rows, std::int64_t count, const std::uint32_t* words,
                  float up, float down);

// Where blocks lie: element i of block b is at b * next_block + i * next_element, one of which is 1. REQUIRES
// of blocks one after another a length, and of blocks side by side a count, that is a multiple of kLanes.
struct Blocks {
  static constexpr std::int64_t kLanes = 16;

  std::int64_t count, length, next_block, next_element;
};

// The largest magnitude of each, as the bits of a float32.
void largest_magnitudes(DType dtype, const void* values, const Blocks& blocks, std::uint32_t* amax);

// Values are divided by the scale of their block, which `factors` do, rounded, and multiplied by both scales.
// The word of element i of block b is words[b * next_words + i].
struct BlockScales {
  const float *factors, *scales;
  float tensor_scale;
};
void round_blocks(const Layout& layout, const RowPair& rows, const Blocks& blocks, const BlockScales& scales,
                  const std::uint32_t* words, std::int64_t next_words);

}  // namespace halftone::simd
