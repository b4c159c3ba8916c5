// SPDX-License-Identifier: Apache-2.0
#include "report/statistics.h"

#include <gtest/gtest.h>

#include "report/records.h"

namespace halftone::report {
namespace {

TEST(Statistics, TheDeviationIsThatOfASample) {
  const Summary summary = summarise(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(summary.count, 8);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_DOUBLE_EQ(summary.deviation, std::sqrt(32.0 / 7));
  EXPECT_EQ(summary.low, 2);
  EXPECT_EQ(summary.high, 9);
  EXPECT_EQ(summarise(std::vector<double>{3}).deviation, 0);
  EXPECT_EQ(summarise(std::vector<double>{}).count, 0);
}

Comparison two_recipes() {
  Comparison comparison;
  for (const char* recipe : {"float32", "float16"}) {
    Series series{.recipe = recipe, .runs = {}, .failure = ""};
    for (int seed = 1; seed <= 3; ++seed) series.runs.push_back(sample_record(100, seed, recipe));
    comparison.series.push_back(series);
  }
  return comparison;
}

TEST(Statistics, FailedRunsAreCountedButEnterNoMean) {
  Comparison comparison = two_recipes();
  train::RunRecord& broken = comparison.series[1].runs[1];
  broken.finished = false;
  broken.steps.resize(40);
  broken.epochs.clear();
  const std::vector<SeriesSummary> all = summarise(comparison);
  EXPECT_EQ(all[0].finished, 3);
  EXPECT_EQ(all[1].runs, 3);
  EXPECT_EQ(all[1].finished, 2);
  EXPECT_EQ(all[1].score.count, 2);
  EXPECT_NEAR(all[1].score.mean, all[0].score.mean, 1e-12);  // seeds 1 and 3, symmetric around seed 2
  EXPECT_EQ(all[1].mean_loss.size(), 100u);
  EXPECT_FLOAT_EQ(
      static_cast<float>(all[1].mean_loss[50].y),
      (comparison.series[1].runs[0].steps[50].loss + comparison.series[1].runs[2].steps[50].loss) / 2);
}

TEST(Statistics, AccuracyIsSaidWithItsSpreadAndItsDifference) {
  const std::vector<SeriesSummary> all = summarise(two_recipes());
  EXPECT_EQ(score_text(all[0]), "90.62 % ± 0.10");  // 90.52, 90.62, 90.72
  EXPECT_EQ(delta_text(all[1], all[0]), "+0.00");
  const SeriesSummary nothing{.recipe = "x", .failure = ""};
  EXPECT_EQ(score_text(nothing), "–");
  EXPECT_EQ(delta_text(nothing, all[0]), "–");
  EXPECT_EQ(delta_text(all[0], nothing), "–");
}

}  // namespace
}  // namespace halftone::report
