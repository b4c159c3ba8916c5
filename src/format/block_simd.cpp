// SPDX-License-Identifier: Apache-2.0
#include "format/block_simd.h"

namespace halftone::simd {

bool covers(const BlockFormat&) { return false; }
void encode_blocks(const BlockFormat&, const float*, std::int64_t, void*, void*, float, const Conversion&,
                   const RandomWords&) {}
void decode_blocks(const BlockFormat&, const void*, const void*, std::int64_t, float*, float) {}

}  // namespace halftone::simd
