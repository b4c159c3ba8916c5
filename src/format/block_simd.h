// SPDX-License-Identifier: Apache-2.0
//
// Whole blocks in vectors: elements of at most 8 bits that rows_simd.h covers, in blocks of a multiple of 16.
#pragma once

#include <cstdint>

#include "halftone/block.h"

namespace halftone::simd {

// What is worked on at a time: elements that, as floats, fit the first-level cache.
inline constexpr std::int64_t kGroup = 2048;

bool covers(const BlockFormat& format);

// Codes, a byte each, of values divided by 2^exponent or multiplied by the factor of their block
// (block_scale.h). The conversion saturates; `words` has a random word for each value or is null.
void encode_elements(const BlockFormat& format, bool power_of_two, const float* values, std::int64_t blocks,
                     const std::int32_t* exponents, const float* factors, const Conversion& conversion,
                     const std::uint32_t* words, std::uint8_t* codes);

// element * scale * tensor scale.
void decode_elements(const BlockFormat& format, const std::uint8_t* codes, std::int64_t blocks,
                     const float* scales, float tensor_scale, float* values);

}  // namespace halftone::simd
