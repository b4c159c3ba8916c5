// SPDX-License-Identifier: Apache-2.0
//
// Counting in vectors: the codes are decoded again and compared with the values, a piece at a time.
#pragma once

#include <cstdint>

#include "halftone/census.h"

namespace halftone::simd {

// REQUIRES covers(format) (rows_simd.h).
void count_narrow(const Format& format, const float* values, const void* codes, std::int64_t count,
                  Census& census);

}  // namespace halftone::simd
