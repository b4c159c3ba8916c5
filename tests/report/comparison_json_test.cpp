// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/records.h"

namespace halftone::report {
namespace {

TEST(ComparisonJson, HoldsTheSummaryAndEveryRun) {
  Comparison comparison;
  comparison.series.push_back(
      {"float32", {sample_record(10, 1, "float32"), sample_record(10, 2, "float32")}, ""});
  comparison.series.push_back({"float16", {sample_record(10, 2)}, ""});
  comparison.series[1].runs[0].epochs.back().test_accuracy -= 0.005;
  const nlohmann::json json = nlohmann::json::parse(to_json(comparison));
  const auto& series = json["series"];
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0]["recipe"], "float32");
  EXPECT_NEAR(series[0]["accuracy"]["mean"].get<double>(), 0.9057, 1e-9);
  EXPECT_NEAR(series[0]["accuracy"]["deviation"].get<double>(), 0.001 / std::sqrt(2.0), 1e-9);
  EXPECT_TRUE(series[1]["accuracy"]["deviation"].is_null());  // one run has no spread
  EXPECT_NEAR(series[1]["accuracy_minus_first"]["mean"].get<double>(), -0.005, 1e-9);  // of seed 2
  EXPECT_EQ(series[1]["accuracy_minus_first"]["count"], 1);
  EXPECT_EQ(series[0]["runs"][1]["config"]["seed"], 2);
  EXPECT_EQ(series[0]["runs"][1]["steps"]["loss"].size(), 10u);
}

TEST(ComparisonJson, ARecipeThatNeverFinishedHasNoNumbersButItsReason) {
  Comparison comparison;
  comparison.series.push_back({"float16", {}, "[train] NaN"});
  const nlohmann::json json = nlohmann::json::parse(to_json(comparison));
  EXPECT_TRUE(json["series"][0]["accuracy"].is_null());
  EXPECT_EQ(json["series"][0]["failure"], "[train] NaN");
  EXPECT_TRUE(nlohmann::json::parse(to_json(Comparison{}))["series"].empty());
}

}  // namespace
}  // namespace halftone::report
