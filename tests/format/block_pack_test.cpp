// SPDX-License-Identifier: Apache-2.0
//
// Packing against a plain stream of bits.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "halftone/block.h"

namespace halftone {
namespace {

std::vector<std::uint8_t> stream_of_bits(int bits, const std::vector<std::uint8_t>& codes) {
  std::vector<std::uint8_t> stream((codes.size() * static_cast<std::size_t>(bits) + 7) / 8, 0);
  std::size_t at = 0;
  for (std::uint8_t code : codes)
    for (int bit = 0; bit < bits; ++bit, ++at)
      if (code >> bit & 1) stream[at / 8] = static_cast<std::uint8_t>(stream[at / 8] | 1 << at % 8);
  return stream;
}

TEST(Pack, IsTheStreamOfTheBitsLowestFirst) {
  std::mt19937 random(3);
  for (int bits = 1; bits <= 8; ++bits) {
    for (std::size_t count = 0; count < 150; ++count) {
      std::vector<std::uint8_t> codes(count);
      for (auto& code : codes) code = static_cast<std::uint8_t>(random() & ((1u << bits) - 1));
      std::vector<std::uint8_t> packed((count * static_cast<std::size_t>(bits) + 7) / 8 + 1, 0xEE);
      pack_codes(bits, codes.data(), static_cast<std::int64_t>(count), packed.data());
      ASSERT_EQ(packed.back(), 0xEE);
      packed.pop_back();
      ASSERT_EQ(packed, stream_of_bits(bits, codes)) << bits << " bits, " << count;
      std::vector<std::uint8_t> back(count + 1, 0xEE);
      unpack_codes(bits, packed.data(), static_cast<std::int64_t>(count), back.data());
      ASSERT_EQ(back.back(), 0xEE);
      back.pop_back();
      ASSERT_EQ(back, codes) << bits << " bits, " << count;
    }
  }
}

TEST(Pack, IgnoresBitsAboveThoseOfTheFormat) {
  const std::vector<std::uint8_t> codes(40, 0xF5);
  std::vector<std::uint8_t> packed(20);
  pack_codes(4, codes.data(), 40, packed.data());
  for (std::uint8_t byte : packed) EXPECT_EQ(byte, 0x55);
}

}  // namespace
}  // namespace halftone
