// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_in_folder.h"
#include "halftone/amp.h"

namespace halftone {
namespace {

using Memory = RunInFolder;

TEST_F(Memory, EveryRecipeHasARowThatAddsUp) {
  const nlohmann::json all = nlohmann::json::parse(run_command("memory --json").output);
  EXPECT_EQ(all["parameters"], 669706);
  ASSERT_EQ(all["recipes"].size(), std::size(amp::kRecipes));
  const nlohmann::json targets{{"float32", 16},        {"bfloat16", 18},       {"float16", 18},
                               {"float16_master", 18}, {"bfloat16_split", 16}, {"bfloat16_lean", 10}};
  for (std::size_t i = 0; i < std::size(amp::kRecipes); ++i) {
    const nlohmann::json& row = all["recipes"][i];
    EXPECT_EQ(row["recipe"], amp::kRecipes[i].name);
    double sum = 0;
    for (const auto& [column, bytes] : row["bytes_per_parameter"].items())
      if (column != "total") sum += bytes.get<double>();
    EXPECT_NEAR(sum, row["bytes_per_parameter"]["total"], 1e-9);
    EXPECT_GE(row["bytes_taken"], row["bytes"]);
    if (!targets.contains(row["recipe"])) continue;
    // Vectors, a 650th of the parameters, are float32.
    EXPECT_NEAR(row["bytes_per_parameter"]["total"], targets[row["recipe"]].get<double>(), 0.02) << row;
  }
}

TEST_F(Memory, OptimizerModelAndConsumptionShow) {
  const auto of = [](const std::string& arguments) {
    return nlohmann::json::parse(
        run_command("memory --json " + arguments).output)["recipes"][0]["bytes_per_parameter"];
  };
  EXPECT_EQ(of("--recipe float32 --optimizer lion")["state"], 4);
  EXPECT_EQ(of("--recipe float32 --optimizer sgd")["state"], 0);
  EXPECT_LT(of("--recipe float32 --optimizer adafactor --model cnn")["state"], 0.05);
  EXPECT_EQ(of("--recipe float32 --consume-gradients")["gradient"], 0);
  EXPECT_NEAR(of("--recipe float32 --consume-gradients")["total"], 12, 1e-4);
}

TEST_F(Memory, TheTableHasTheSameNumbers) {
  const CommandResult result = run_command("memory --recipe float32,bfloat16_lean");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("float32                    4.00       0.00       0.00       4.00       8.00 "
                               "     16.00"),
            std::string::npos)
      << result.output;
}

TEST_F(Memory, WhatIsNotUnderstoodIsAUsageError) {
  for (const char* arguments :
       {"--recipe nonsense", "--recipe float32,float32", "--model rnn", "--optimizer adagrad"})
    EXPECT_EQ(run_command(std::string("memory ") + arguments).code, 2) << arguments;
  const Streams refused = run_apart("memory --consume-gradients --recipe float16");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.error.find("could not be undone"), std::string::npos);
}

}  // namespace
}  // namespace halftone
