// SPDX-License-Identifier: Apache-2.0
#include "report/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

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

TEST(Statistics, TheEndsDoNotDependOnWhereANanStands) {
  const double values[] = {std::numeric_limits<double>::quiet_NaN(), 1, -2, 3};
  std::size_t order[] = {0, 1, 2, 3};
  do {
    std::vector<double> row;
    for (const std::size_t i : order) row.push_back(values[i]);
    const Summary summary = summarise(row);
    EXPECT_EQ(summary.low, -2);
    EXPECT_EQ(summary.high, 3);
    EXPECT_TRUE(std::isnan(summary.mean));
    EXPECT_EQ(summary.count, 4);
  } while (std::next_permutation(std::begin(order), std::end(order)));
  const Summary nothing = summarise(std::vector<double>(2, values[0]));
  EXPECT_TRUE(std::isnan(nothing.low));
  EXPECT_TRUE(std::isnan(nothing.high));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(summarise(std::vector<double>{infinity}).low, infinity);
  EXPECT_EQ(summarise(std::vector<double>{-infinity, values[0]}).high, -infinity);
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

TEST(Statistics, TheFirstWithARunIsFound) {
  Comparison comparison = two_recipes();
  EXPECT_EQ(first_with_run(summarise(comparison))->recipe, "float32");
  comparison.series[0].runs.clear();
  EXPECT_EQ(first_with_run(summarise(comparison))->recipe, "float16");
  comparison.series[1].runs.clear();
  EXPECT_EQ(first_with_run(summarise(comparison)), nullptr);
}

TEST(Statistics, AccuracyIsSaidWithItsSpreadAndItsDifference) {
  const std::vector<SeriesSummary> all = summarise(two_recipes());
  EXPECT_EQ(score_text(all[0]), "90.62 % ± 0.10");  // 90.52, 90.62, 90.72
  EXPECT_EQ(delta_text(all[1]), "0.00 ± 0.00");
  const SeriesSummary nothing{.recipe = "x", .failure = ""};
  EXPECT_EQ(score_text(nothing), "–");
  EXPECT_EQ(delta_text(nothing), "–");
}

TEST(Statistics, DifferencesAreBetweenRunsOfTheSameSeed) {
  Comparison comparison = two_recipes();
  std::vector<train::RunRecord>& runs = comparison.series[1].runs;
  for (int i = 0; i < 3; ++i)
    runs[static_cast<std::size_t>(i)].epochs[2].test_accuracy -= 0.001 * (1 + i);  // 1, 2, 3 in a thousand
  std::swap(runs[0], runs[2]);  // the order does not matter
  std::vector<SeriesSummary> all = summarise(comparison);
  EXPECT_NEAR(all[1].score.deviation, 0, 1e-12);  // seeds differ by as much the other way
  EXPECT_EQ(delta_text(all[1]), "-0.20 ± 0.10");
  ASSERT_EQ(all[1].mean_against_first.size(), 3u);
  EXPECT_NEAR(all[1].mean_against_first[1].y, 0, 1e-12);
  EXPECT_NEAR(all[1].mean_against_first[2].y, -0.002, 1e-12);
  EXPECT_EQ(all[0].against_first.low, 0);
  EXPECT_EQ(all[0].against_first.high, 0);

  runs[0].finished = false;                                            // seed 3: counts no more
  comparison.series[0].runs.erase(comparison.series[0].runs.begin());  // seed 1 has no partner
  all = summarise(comparison);
  EXPECT_EQ(all[1].against_first.count, 1);
  EXPECT_EQ(delta_text(all[1]), "-0.20");
}

}  // namespace
}  // namespace halftone::report
