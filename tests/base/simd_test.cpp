// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "halftone/error.h"
#include "halftone/simd.h"

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
struct Quotient {
  static void run(const float* x, const float* y, float* z, int count) {
    for (int i = 0; i < count; ++i) z[i] = (x[i] * y[i] + x[i]) / (y[i] * y[i] + 3) - x[i] * x[i];
  }
};

TEST(SimdLevel, EveryLevelGivesTheSameBits) {
  constexpr int kCount = 1003;
  float x[kCount], y[kCount], expected[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = 0.37F * static_cast<float>(i) - 11, y[i] = 1 / (x[i] + 0.123F);
  const SimdLevel before = simd_level();
  set_simd_level(SimdLevel::baseline);
  at_simd_level<Quotient, const float*, const float*, float*, int>(x, y, expected, kCount);
  for (const SimdLevel level : {SimdLevel::avx2, SimdLevel::avx512}) {
    if (level > best_simd_level()) continue;
    float actual[kCount];
    set_simd_level(level);
    at_simd_level<Quotient, const float*, const float*, float*, int>(x, y, actual, kCount);
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(actual[i], expected[i]) << "level " << static_cast<int>(level) << ", element " << i;
  }
  set_simd_level(before);
}

}  // namespace
}  // namespace halftone
