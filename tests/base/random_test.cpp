// SPDX-License-Identifier: Apache-2.0
#include "halftone/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace halftone {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known-answer vectors of philox4x32-10 in the authors' distribution (Random123, kat_vectors). The
// counter is (index low, index high, stream low, stream high), the key (seed low, seed high).
TEST(Random, PhiloxGivesTheKnownAnswersOfItsAuthors) {
  EXPECT_EQ(philox(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox(ones, ones, ones), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, BitsAreTheWordsOfTheBlocksInOrder) {
  for (std::uint64_t index : {0u, 1u, 2u, 3u, 4u, 7u, 1001u})
    EXPECT_EQ(random_bits(5, 9, index), philox(5, 9, index / 4)[index % 4]);
}

TEST(Random, SeedStreamAndIndexAllMatter) {
  std::set<std::uint32_t> words;
  for (std::uint64_t seed : {0u, 1u})
    for (std::uint64_t stream : {0u, 1u})
      for (std::uint64_t index = 0; index < 256; ++index) words.insert(random_bits(seed, stream, index));
  EXPECT_GT(words.size(), 1020u);  // of 1024; two equal words of 32 bits among them are a 1 in 8000 event
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <class Draw>
Moments moments(int count, const Draw& draw) {
  std::vector<double> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = draw(i);
  Moments m;
  m.mean = std::accumulate(x.begin(), x.end(), 0.0) / count;
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean) / count;
  for (double v : x) m.skewness += std::pow((v - m.mean) / std::sqrt(m.variance), 3) / count;
  for (double v : x) m.kurtosis += std::pow((v - m.mean) / std::sqrt(m.variance), 4) / count;
  return m;
}

constexpr int kDraws = 200000;

// Tolerances are five standard deviations of the estimate; the draws are fixed, so the tests are not chancy.
TEST(Random, UniformHasTheMomentsOfTheUnitInterval) {
  const Moments m = moments(kDraws, [](std::uint64_t i) { return random_uniform_at(1, 2, i); });
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / kDraws));
  EXPECT_NEAR(m.skewness, 0, 0.02);
  EXPECT_NEAR(m.kurtosis, 1.8, 0.02);
}

TEST(Random, UniformFillsEveryBinOfTheUnitIntervalAndNeverReachesOne) {
  std::vector<int> bins(16);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const float u = random_uniform_at(3, 4, i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ASSERT_EQ(u * 0x1p24f, std::floor(u * 0x1p24f));  // 24 bits
    ++bins[static_cast<std::size_t>(u * 16)];
  }
  double chi_square = 0;
  for (int n : bins) chi_square += std::pow(n - kDraws / 16.0, 2) / (kDraws / 16.0);
  EXPECT_LT(chi_square, 37.7);  // 15 degrees of freedom, 0.1 %
}

TEST(Random, KeptAreTheUniformNumbersThatAreNotBelowTheProbability) {
  constexpr std::int64_t kCount = 2500;
  for (const double probability : {0.0, 0x1p-24, 0.1, 0.5, 1 - 0x1p-24, 1.0})
    for (const std::uint64_t first : {0, 3, 1025}) {
      std::vector<std::uint8_t> kept(kCount, 2);
      random_kept(7, streams::example, first, probability, kept.data(), kCount);
      for (std::uint64_t i = 0; i < kCount; ++i)
        ASSERT_EQ(kept[i], random_uniform_at(7, streams::example, first + i) >= probability) << i;
    }
}

TEST(Random, NormalHasTheMomentsOfTheStandardNormal) {
  const Moments m = moments(kDraws, [](std::uint64_t i) { return random_normal_at(1, 2, i); });
  EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(m.skewness, 0, 5 * std::sqrt(6.0 / kDraws));
  EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24.0 / kDraws));
}

TEST(Random, NormalHasTheTailsOfTheStandardNormalAndIsFinite) {
  int beyond_two = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const float x = random_normal_at(7, 8, i);
    ASSERT_TRUE(std::isfinite(x));
    ASSERT_LT(std::fabs(x), 6.7f);  // sqrt(2 * 32 * ln 2) = 6.66
    beyond_two += std::fabs(x) > 2;
  }
  EXPECT_NEAR(beyond_two / static_cast<double>(kDraws), 0.0455, 0.0025);
}

TEST(Random, NeighboursAreNotCorrelated) {
  double product = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i)
    product += random_normal_at(1, 1, i) * random_normal_at(1, 1, i + 1);
  EXPECT_NEAR(product / kDraws, 0, 5 / std::sqrt(kDraws));
}

TEST(Random, PermutationHoldsEveryNumberOnce) {
  for (std::int32_t count : {0, 1, 2, 3, 100, 1000}) {
    std::vector<std::int32_t> order = random_permutation(count, 1, streams::shuffle);
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
  }
}

TEST(Random, PermutationIsAFunctionOfSeedAndStream) {
  const auto order = random_permutation(50, 1, 2);
  EXPECT_EQ(order, random_permutation(50, 1, 2));
  EXPECT_NE(order, random_permutation(50, 1, 3));
  EXPECT_NE(order, random_permutation(50, 2, 2));
}

TEST(Random, AllPermutationsOfThreeAreEquallyLikely) {
  std::vector<int> seen(27);
  constexpr int kTrials = 60000;
  for (std::uint64_t stream = 0; stream < kTrials; ++stream) {
    const auto p = random_permutation(3, 11, stream);
    ++seen[static_cast<std::size_t>(p[0] * 9 + p[1] * 3 + p[2])];
  }
  int orders = 0;
  for (int n : seen) {
    if (n == 0) continue;
    ++orders;
    EXPECT_NEAR(n, kTrials / 6, 5 * std::sqrt(kTrials / 6.0 * 5 / 6));
  }
  EXPECT_EQ(orders, 6);
}

}  // namespace
}  // namespace halftone
