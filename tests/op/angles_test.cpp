// SPDX-License-Identifier: Apache-2.0
#include "op/angles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace halftone {
namespace {

void expect_angles(const Tensor& table, double base, std::int64_t first) {
  const std::vector<double> values = table.to_vector();
  const std::int64_t positions = table.size(0), width = table.size(1);
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const double angle = static_cast<double>(first + p) /
                           std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(width));
      EXPECT_NEAR(values[static_cast<std::size_t>(p * width + i)], std::cos(angle), 1e-7);
      EXPECT_NEAR(values[static_cast<std::size_t>(p * width + width / 2 + i)], std::sin(angle), 1e-7);
    }
}

TEST(Angles, AreThoseOfThePositionsAskedForWhateverIsKept) {
  for (const std::int64_t first : {0, 5, 3, 60, 0, 1 << 21})
    for (const double base : {10000.0, 500000.0, 10000.0})
      for (const std::int64_t width : {2, 8, 6})
        expect_angles(angles({base}, first, 7, width, float32), base, first);
  EXPECT_EQ(angles({10000}, 0, 3, 4, float64).dtype(), float64);
  EXPECT_EQ(angles({10000}, 0, 0, 4, float32).count(), 0);
}

TEST(Angles, AreKeptAndAreFew) {
  const void* kept = angles({10000}, 0, 32, 64, float32).raw();
  EXPECT_EQ(angles({10000}, 0, 32, 64, float32).raw(), kept);
  EXPECT_EQ(angles({10000}, 0, 7, 64, float32).raw(), kept);
  for (int base = 2; base < 40; ++base) angles({static_cast<double>(base)}, 0, 4, 4, float32);
  EXPECT_EQ(angle_tables(), kAngleTables);
}

// The wave lengths of Llama 3.1's own description: a wave longer than the original context by the low factor
// is stretched, one shorter by the high factor is not.
TEST(Angles, AreScaledAsLlama3Is) {
  const RotaryScaling scaling{.factor = 8, .original_context = 8192, .low_frequency = 1, .high_frequency = 4};
  const std::int64_t width = 128;
  const std::vector<double> row = angles({500000, scaling}, 1, 1, width, float64).to_vector();
  int kept = 0, between = 0, stretched = 0;
  for (std::int64_t i = 0; i < width / 2; ++i) {
    const double rate = std::pow(500000.0, -static_cast<double>(2 * i) / static_cast<double>(width));
    const double wave = 2 * M_PI / rate;
    double expected = rate;
    if (wave > 8192.0 / 1)
      expected = rate / 8, ++stretched;
    else if (wave >= 8192.0 / 4) {
      const double smooth = (8192 / wave - 1) / (4 - 1);
      expected = (1 - smooth) * rate / 8 + smooth * rate, ++between;
    } else {
      ++kept;
    }
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(std::atan2(row[at + width / 2], row[at]), expected, 1e-12) << i;
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(between, 3);
  EXPECT_GT(stretched, 20);
}

TEST(Angles, OfHalfTheRateAreThoseOfHalfThePosition) {
  const RotaryScaling half{.factor = 2};
  const std::vector<double> slow = angles({100, half}, 6, 1, 8, float64).to_vector(),
                            plain = angles({100}, 3, 1, 8, float64).to_vector();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(slow[i], plain[i], 1e-15);
}

TEST(Angles, MayBeAskedForBySeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<Tensor> found(8);
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&found, t] {
      for (int i = 1; i < 40; ++i) found[t] = angles({static_cast<double>(i % 11 + 2)}, 0, i * 3, 8, float32);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& table : found) expect_angles(table, 39 % 11 + 2, 0);
}

TEST(Angles, OfPositionsWhoseNumbersLeaveSixtyFourBits) {
  const auto last = std::numeric_limits<std::int64_t>::max();
  const std::vector<double> values = angles({10000}, last, 2, 2, float64).to_vector();
  for (const std::size_t row : {0, 2}) {  // two neighbours are one double
    EXPECT_NEAR(values[row], std::cos(0x1p63), 1e-12);
    EXPECT_NEAR(values[row + 1], std::sin(0x1p63), 1e-12);
  }
}

}  // namespace
}  // namespace halftone
