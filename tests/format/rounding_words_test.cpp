// SPDX-License-Identifier: Apache-2.0
#include "format/rounding_words.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/random.h"

namespace halftone {
namespace {

TEST(RoundingWords, AreHalvesOfPhiloxWordsUpToSixteenBits) {
  for (std::uint64_t first : {0u, 1u, 7u, 1022u, 4096u}) {
    for (std::int64_t count : {0, 1, 2, 63, 1023, 1024, 1025, 3001}) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(count) + 1, 77);
      rounding_words({5, 6, first}, 16, words.data(), count);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t half = first + static_cast<std::uint64_t>(i);
        const std::uint32_t word = random_bits(5, 6, half / 2);
        ASSERT_EQ(words[static_cast<std::size_t>(i)], half % 2 == 0 ? word << 16 : word & 0xFFFF0000u) << i;
      }
      ASSERT_EQ(words.back(), 77u);
    }
  }
}

TEST(RoundingWords, AreWholeWordsBeyond) {
  std::vector<std::uint32_t> words(100);
  rounding_words({5, 6, 3}, 17, words.data(), 100);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(words[i], random_bits(5, 6, 3 + i));
}

}  // namespace
}  // namespace halftone
