// SPDX-License-Identifier: Apache-2.0
//
// Many words at a time are the words one by one, on every instruction set this processor has.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "format/rows_simd.h"
#include "halftone/random.h"

namespace halftone {
namespace {

constexpr std::uint32_t kUntouched = 0xA5A5A5A5;

// Runs each test on one instruction set; every loop of the library changes with it.
class RandomWordsLoops : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { simd::use_target(GetParam()); }
  void TearDown() override { simd::use_target(0); }

  // Words first, first + 1, ..., each from its own block; nothing before or behind them is written.
  static void check(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::int64_t count,
                    std::size_t offset = 1) {
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::uint32_t> words(offset + size + 5, kUntouched);
    random_bits(seed, stream, first, words.data() + offset, count);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t index = first + i;
      ASSERT_EQ(words[offset + i], philox(seed, stream, index / 4)[index % 4])
          << "word " << index << ", " << i << " from " << first << " of " << count;
    }
    for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(words[i], kUntouched);
    for (std::size_t i = offset + size; i < words.size(); ++i) ASSERT_EQ(words[i], kUntouched);
  }
};

TEST_P(RandomWordsLoops, AnyLengthFromAnyWord) {
  for (std::int64_t count = 0; count <= 140; ++count)
    for (std::uint64_t first : {0, 1, 2, 3, 4, 5, 6, 7, 62, 63, 64, 65, 1001})
      ASSERT_NO_FATAL_FAILURE(check(5, 9, first, count, first % 4));
  for (std::int64_t count : {255, 256, 257, 1023, 1024, 1025, 4097})
    for (std::uint64_t first = 0; first < 9; ++first) ASSERT_NO_FATAL_FAILURE(check(6, 1, first, count));
}

// A word's block is its index / 4, in two halves of 32 bits; the last word of all is followed by the first.
TEST_P(RandomWordsLoops, CarriesGoThroughTheWholeIndex) {
  std::vector<std::uint64_t> ends;
  for (int bit : {31, 32, 33, 34, 35, 63}) ends.push_back(std::uint64_t{1} << bit);
  ends.push_back(3 * (std::uint64_t{1} << 34));
  ends.push_back(std::uint64_t{0xFFFFFFFF} << 34);
  ends.push_back(0);  // 2^64
  for (std::uint64_t end : ends)
    for (std::uint64_t before : {1, 2, 3, 4, 5, 8, 31, 32, 33, 63, 64, 65, 66, 130, 255, 256})
      ASSERT_NO_FATAL_FAILURE(check(7, 3, end - before, 260));
}

TEST_P(RandomWordsLoops, EveryBitOfSeedAndStreamCounts) {
  for (int bit = 0; bit < 64; ++bit) {
    ASSERT_NO_FATAL_FAILURE(check(std::uint64_t{1} << bit, 0, 17, 70));
    ASSERT_NO_FATAL_FAILURE(check(0, std::uint64_t{1} << bit, 17, 70));
  }
  ASSERT_NO_FATAL_FAILURE(check(~std::uint64_t{0}, ~std::uint64_t{0}, 0, 1000));
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i)
    ASSERT_NO_FATAL_FAILURE(check(random(), random(), random(), static_cast<std::int64_t>(random() % 300)));
}

INSTANTIATE_TEST_SUITE_P(Base, RandomWordsLoops, testing::ValuesIn(simd::targets()),
                         [](const auto& info) { return simd::target_name(info.param); });

TEST(RandomWords, InPiecesAreTheWordsOfTheWhole) {
  std::vector<std::uint32_t> whole(1000), pieces(1000);
  random_bits(2, 4, 11, whole.data(), 1000);
  std::mt19937 random(2);
  for (std::size_t begin = 0; begin < pieces.size();) {
    const std::size_t size = std::min<std::size_t>(random() % 90, pieces.size() - begin);
    random_bits(2, 4, 11 + begin, pieces.data() + begin, static_cast<std::int64_t>(size));
    begin += size;
  }
  EXPECT_EQ(pieces, whole);
}

}  // namespace
}  // namespace halftone
