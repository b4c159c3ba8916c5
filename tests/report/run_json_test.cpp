// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/records.h"

namespace halftone::report {
namespace {

TEST(RunJson, HoldsEveryStepToTheBit) {
  const train::RunRecord record = sample_record();
  const nlohmann::json json = nlohmann::json::parse(to_json(record));
  ASSERT_EQ(json["steps"]["loss"].size(), record.steps.size());
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    EXPECT_EQ(json["steps"]["loss"][i].get<float>(), record.steps[i].loss);
    EXPECT_EQ(json["steps"]["scale"][i].get<float>(), record.steps[i].scale);
    EXPECT_EQ(json["steps"]["applied"][i].get<bool>(), record.steps[i].applied);
  }
}

TEST(RunJson, HoldsTheRest) {
  const nlohmann::json json = nlohmann::json::parse(to_json(sample_record()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["finished"], true);
  EXPECT_EQ(json["failure"], "");
  EXPECT_EQ(json["parameters"], 1690826);
  EXPECT_EQ(json["seconds"], 172);
  EXPECT_EQ(json["images_per_second"], 1200);
  EXPECT_EQ(json["peak_memory_bytes"], 212 << 20);
  EXPECT_EQ(json["config"]["recipe"], "float16");
  EXPECT_EQ(json["config"]["scaler"], "pytorch");
  EXPECT_EQ(json["recipe"]["compute"], "float16");
  EXPECT_EQ(json["recipe"]["parameter"], "float32");
  EXPECT_EQ(json["recipe"]["state"], "float32");
  EXPECT_EQ(json["recipe"]["operands"]["scaling"], "none");
  EXPECT_EQ(json["machine"]["processor"], "Some Processor");
  EXPECT_EQ(json["epochs"].size(), 3u);
  EXPECT_DOUBLE_EQ(json["accuracy"], 0.9142 + 0.001 - 0.01);
  EXPECT_EQ(json["skips"][0]["step"], 1);
  EXPECT_EQ(json["skips"][0]["scale"], 65536);
}

TEST(RunJson, WhatIsNotKnownIsNull) {
  train::RunRecord record;
  record.steps.push_back({NAN, 1, true});
  record.steps.push_back({INFINITY, 1, false});
  const nlohmann::json json = nlohmann::json::parse(to_json(record));
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_TRUE(json["steps"]["loss"][0].is_null());
  EXPECT_TRUE(json["steps"]["loss"][1].is_null());
}

TEST(RunJson, ARecipeThatIsNoRowIsStillAnObject) {
  train::RunRecord record;
  record.config.recipe = "mine";
  EXPECT_EQ(nlohmann::json::parse(to_json(record))["recipe"]["name"], "mine");
}

}  // namespace
}  // namespace halftone::report
