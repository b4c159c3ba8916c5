// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "halftone/error.h"
#include "halftone/formula.h"

namespace halftone {
namespace {

TEST(SimdLevel, StaysWithinWhatTheProcessorHas) {
  const SimdLevel before = simd_level();
  EXPECT_LE(before, best_simd_level());
  set_simd_level(SimdLevel::baseline);
  EXPECT_EQ(simd_level(), SimdLevel::baseline);
  set_simd_level(SimdLevel::avx512);
  EXPECT_EQ(simd_level(), best_simd_level());
  set_simd_level(before);
}

// The variable is read once per process, so each case gets a process of its own.
int level_with(const char* value) {
  setenv("HALFTONE_SIMD", value, 1);
  try {
    return static_cast<int>(simd_level());
  } catch (const ValueError&) {
    return 100;
  }
}

TEST(SimdLevelDeathTest, TheEnvironmentNamesALowerLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(level_with("baseline")), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(level_with("avx512")), ::testing::ExitedWithCode(static_cast<int>(best_simd_level())),
              "");
  EXPECT_EXIT(std::exit(level_with("")), ::testing::ExitedWithCode(static_cast<int>(best_simd_level())), "");
  EXPECT_EXIT(std::exit(level_with("sse9")), ::testing::ExitedWithCode(100), "");
}

// Inexact arithmetic, where a fused multiply-add or another order would show.
constexpr Formula kPolynomial = formula<2>([](auto x, auto y) { return (x * y + x) / (y * y + 3) - x * x; });

TEST(SimdLevel, EveryLevelGivesTheSameBits) {
  constexpr int kCount = 1003;
  float x[kCount], y[kCount], expected[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = 0.37F * static_cast<float>(i) - 11, y[i] = 1 / (x[i] + 0.123F);
  const float* in[] = {x, y};
  kPolynomial.float32[0](in, expected, kCount, nullptr);
  for (int level = 1; level <= static_cast<int>(best_simd_level()); ++level) {
    float actual[kCount];
    kPolynomial.float32[level](in, actual, kCount, nullptr);
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(actual[i], expected[i]) << "level " << level << ", element " << i;
  }
}

}  // namespace
}  // namespace halftone
