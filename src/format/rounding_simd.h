// SPDX-License-Identifier: Apache-2.0
//
// The vector loops that round to the numbers of a format and make no codes. All REQUIRE Layout::fits_rounding
// and a format that rows_simd.h covers. `words` has a random word for each value where the rounding is
// stochastic, and is null otherwise.
#pragma once

#include <cstdint>

#include "format/layout.h"

namespace halftone::simd {

// As round_row of halftone/rounding.h.
void round_values(const Layout& layout, const float* values, float* rounded, std::int64_t count,
                  const std::uint32_t* words, float up, float down);

// How blocks are rounded: divided by their scale, which `factors` do, and multiplied by both scales.
struct BlockScales {
  const float *factors, *scales;
  float tensor_scale;
};

// Blocks one after another. REQUIRES a length that is a multiple of 16.
void round_blocks(const Layout& layout, float* values, std::int64_t length, std::int64_t blocks,
                  const BlockScales& scales, const std::uint32_t* words);

// Blocks side by side: element i of a block is at values[i * stride + block], and its random word is
// words[block * word_stride + i]. All go on to a multiple of 16 blocks, but for the words.
void largest_magnitudes_across(const float* values, std::int64_t length, std::int64_t blocks,
                               std::int64_t stride, std::uint32_t* amax);
void round_blocks_across(const Layout& layout, float* values, std::int64_t length, std::int64_t blocks,
                         std::int64_t stride, const BlockScales& scales, const std::uint32_t* words,
                         std::int64_t word_stride);

}  // namespace halftone::simd
