// SPDX-License-Identifier: Apache-2.0
#include "op/angles.h"

#include <gtest/gtest.h>

#include <cmath>
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
        expect_angles(angles(base, first, 7, width, float32), base, first);
  EXPECT_EQ(angles(10000, 0, 3, 4, float64).dtype(), float64);
  EXPECT_EQ(angles(10000, 0, 0, 4, float32).count(), 0);
}

TEST(Angles, AreKeptAndAreFew) {
  const void* kept = angles(10000, 0, 32, 64, float32).raw();
  EXPECT_EQ(angles(10000, 0, 32, 64, float32).raw(), kept);
  EXPECT_EQ(angles(10000, 0, 7, 64, float32).raw(), kept);
  for (int base = 2; base < 40; ++base) angles(base, 0, 4, 4, float32);
  EXPECT_EQ(angle_tables(), kAngleTables);
}

TEST(Angles, MayBeAskedForBySeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<Tensor> found(8);
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&found, t] {
      for (int i = 1; i < 40; ++i) found[t] = angles(static_cast<double>(i % 11 + 2), 0, i * 3, 8, float32);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& table : found) expect_angles(table, 39 % 11 + 2, 0);
}

}  // namespace
}  // namespace halftone
