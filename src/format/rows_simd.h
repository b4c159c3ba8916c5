// SPDX-License-Identifier: Apache-2.0
//
// The vector loops between float32 and the narrow formats: every signed row of at most 31 bits whose values
// are values of float32, in the table or not. The loops take what they need to know of the row as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/conversion.h"

namespace halftone::simd {

bool covers(const Format& format);

// REQUIRES covers(format). `words` has a random word for each value where the rounding is stochastic, and
// is null otherwise.
void decode_narrow(const Format& format, const void* codes, float* values, std::int64_t count);
void encode_narrow(const Format& format, const float* values, void* codes, std::int64_t count,
                   const Conversion& conversion = {}, const std::uint32_t* words = nullptr);

// For tests: the instruction sets this processor has and these loops were compiled for, and a way to run on
// one of them. use_target(0) goes back to the best. Not while another thread is converting.
std::vector<std::int64_t> targets();
std::string target_name(std::int64_t target);
void use_target(std::int64_t target);

}  // namespace halftone::simd
