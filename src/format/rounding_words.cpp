// SPDX-License-Identifier: Apache-2.0
#include "format/rounding_words.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "halftone/random.h"

namespace halftone {

void rounding_words(const RandomWords& random, int bits, std::uint32_t* words, std::int64_t count) {
  if (bits > 16) return random_bits(random.seed, random.stream, random.first, words, count);
  constexpr std::int64_t kPiece = 1024;
  std::array<std::uint32_t, kPiece / 2 + 1> pairs;
  std::array<std::uint16_t, kPiece + 2> halves;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    const std::uint64_t first = random.first + static_cast<std::uint64_t>(begin);
    const auto skip = static_cast<std::int64_t>(first % 2);
    const std::int64_t drawn = (size + skip + 1) / 2;
    random_bits(random.seed, random.stream, first / 2, pairs.data(), drawn);
    std::memcpy(halves.data(), pairs.data(), static_cast<std::size_t>(drawn) * sizeof(std::uint32_t));
    const std::uint16_t* half = halves.data() + skip;
    for (std::int64_t i = 0; i < size; ++i) words[begin + i] = std::uint32_t{half[i]} << 16;
  }
}

}  // namespace halftone
