// SPDX-License-Identifier: Apache-2.0
#include "report/words.h"

#include <gtest/gtest.h>

#include <limits>

#include "report/records.h"

namespace halftone::report {
namespace {

TEST(Words, CountsHaveThousands) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(60000), "60,000");
  EXPECT_EQ(count(-1234567), "-1,234,567");
  EXPECT_EQ(plural(1, "step"), "1 step");
  EXPECT_EQ(plural(1407, "step"), "1,407 steps");
}

TEST(Words, DecimalsRoundAndNameWhatIsNotANumber) {
  EXPECT_EQ(decimals(1234.56, 1), "1,234.6");
  EXPECT_EQ(decimals(-0.001, 2), "0.00");
  EXPECT_EQ(decimals(-12.5, 1), "-12.5");
  EXPECT_EQ(decimals(std::numeric_limits<double>::quiet_NaN(), 2), "NaN");
  EXPECT_EQ(decimals(-std::numeric_limits<double>::infinity(), 2), "-infinity");
  EXPECT_EQ(percent(0.91424), "91.42 %");
}

TEST(Words, DurationsChangeUnit) {
  EXPECT_EQ(duration(0.421), "0.42 s");
  EXPECT_EQ(duration(42.4), "42 s");
  EXPECT_EQ(duration(112), "1 min 52 s");
  EXPECT_EQ(duration(59.7), "1 min 0 s");
  EXPECT_EQ(duration(7500), "2 h 5 min");
  EXPECT_EQ(duration(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(Words, ScalesBelowOneKeepTheirValue) {
  EXPECT_EQ(scale_text(65536), "65,536");
  EXPECT_EQ(scale_text(0.25), "0.25");
  EXPECT_EQ(mebibytes(212 << 20), "212 MiB");
  EXPECT_EQ(mebibytes(1536 << 10), "1.5 MiB");
}

TEST(Words, ImagesPerSecondIsWeightedByTime) {
  train::RunRecord record;
  EXPECT_EQ(per_second(record), 0);
  record.epochs.resize(2);
  record.epochs[0].seconds = 1, record.epochs[0].per_second = 100;
  record.epochs[1].seconds = 3, record.epochs[1].per_second = 500;
  EXPECT_DOUBLE_EQ(per_second(record), 400);  // (1 * 100 + 3 * 500) / 4
}

TEST(Words, EarlySkipsAreCalledNormalAndManyAreNot) {
  train::RunRecord record = sample_record(300);
  EXPECT_NE(skip_words(record).find("normal"), std::string::npos);
  for (std::size_t i = 0; i < 100; ++i) record.steps[i].applied = false;
  EXPECT_EQ(skip_count(record), 101);
  EXPECT_EQ(skip_words(record).find("normal"), std::string::npos);
}

TEST(Words, SkippingEveryStepIsNotCalledNormal) {
  train::RunRecord record = sample_record(4);
  for (train::StepRecord& step : record.steps) step.applied = false;
  EXPECT_EQ(skip_count(record), 4);
  EXPECT_EQ(skip_words(record).find("normal"), std::string::npos);
  EXPECT_NE(skip_words(record).find("nothing was trained"), std::string::npos);
}

TEST(Words, ARecipeIsDescribedFromItsRow) {
  EXPECT_EQ(recipe_words("float16_master"),
            "matmuls in float16, weights in float16 with a float32 master copy, dynamic loss scale");
  EXPECT_EQ(recipe_words("bfloat16_pure"),
            "matmuls in bfloat16, weights in bfloat16 without a master copy, no loss scale");
  EXPECT_EQ(recipe_words("of my own"), "of my own");
  EXPECT_EQ(recipe_words("mxfp4"),
            "matmuls in bfloat16, weights in float32, operands of layers in mxfp4 (gradients mxfp4:rceil), "
            "gradients rounded stochastically, no loss scale");
  EXPECT_EQ(
      recipe_words("bfloat16_lean"),
      "matmuls in bfloat16, weights in bfloat16, updates rounded stochastically, moments in bfloat16, no "
      "loss scale");
}

}  // namespace
}  // namespace halftone::report
