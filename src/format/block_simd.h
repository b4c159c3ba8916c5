// SPDX-License-Identifier: Apache-2.0
//
// Blocks in vectors: signed elements of 4, 6 or 8 bits in blocks of a multiple of 16.
#pragma once

#include <cstdint>

#include "halftone/block.h"

namespace halftone::simd {

bool covers(const BlockFormat& format);

// As in block.h; REQUIRES covers(format), and a conversion that saturates.
void encode_blocks(const BlockFormat& format, const float* values, std::int64_t count, void* elements,
                   void* scales, float tensor_scale, const Conversion& conversion, const RandomWords& random);
void decode_blocks(const BlockFormat& format, const void* elements, const void* scales, std::int64_t count,
                   float* values, float tensor_scale);

}  // namespace halftone::simd
