// SPDX-License-Identifier: Apache-2.0
//
// The random numbers of stochastic rounding, in whose upper bits conversion_codec.h looks. Up to 16 bits are
// drawn as halves of words, which halves the cost: element i takes half i (the lower half of a word first).
// More than 16 take a word each.
#pragma once

#include <cstdint>

#include "halftone/conversion.h"

namespace halftone {

void rounding_words(const RandomWords& random, int random_bits, std::uint32_t* words, std::int64_t count);

}  // namespace halftone
