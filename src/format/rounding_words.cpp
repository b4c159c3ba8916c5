// SPDX-License-Identifier: Apache-2.0
#include "format/rounding_words.h"

#include <algorithm>
#include <array>

#include "halftone/random.h"
#include "halftone/simd.h"

namespace halftone {
namespace {

// Both halves of each word, as the upper halves of two.
struct Spread {
  static void run(std::int64_t pairs, const std::uint32_t* from, std::uint32_t* to) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      to[2 * i] = from[i] << 16;
      to[2 * i + 1] = from[i] & 0xFFFF0000u;
    }
  }
};

}  // namespace

void rounding_words(const RandomWords& random, int bits, std::uint32_t* words, std::int64_t count) {
  if (bits > 16) return random_bits(random.seed, random.stream, random.first, words, count);
  constexpr std::int64_t kPiece = 1024;
  std::array<std::uint32_t, kPiece / 2> drawn;
  std::uint64_t next = random.first;
  if (next % 2 != 0 && count > 0) {
    *words++ = halftone::random_bits(random.seed, random.stream, next / 2) & 0xFFFF0000u;
    ++next, --count;
  }
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    const std::uint64_t word = next / 2 + static_cast<std::uint64_t>(begin) / 2;
    random_bits(random.seed, random.stream, word, drawn.data(), (size + 1) / 2);
    at_simd_level<Spread, std::int64_t, const std::uint32_t*, std::uint32_t*>(size / 2, drawn.data(),
                                                                              words + begin);
    if (size % 2 != 0) words[begin + size - 1] = drawn[static_cast<std::size_t>(size / 2)] << 16;
  }
}

}  // namespace halftone
