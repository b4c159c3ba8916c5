// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

using Compare = RunInFolder;

std::string tiny_compare(const std::string& more) {
  return "compare fashion-mnist --model mlp --limit 128 --batch 64 --epochs 1 --threads 1 --data data " +
         more;
}

TEST_F(Compare, RecipesTakeTurnsAndEndInOneTable) {
  const Streams result = run_apart(tiny_compare("--recipes float32,float16_master --seeds 2"));
  ASSERT_EQ(result.code, 0) << result.error;
  std::size_t last = 0;
  for (const char* run :
       {"2 recipes x 2 seeds = 4 runs", "\nfloat32 seed 1: epoch 1 of 1", "\nfloat16_master seed 1: epoch",
        "\nfloat32 seed 2: epoch", "\nfloat16_master seed 2: epoch"}) {
    const std::size_t at = result.error.find(run);
    ASSERT_NE(at, std::string::npos) << run << "\n" << result.error;
    EXPECT_GE(at, last) << run;
    last = at;
  }
  EXPECT_EQ(result.output.rfind("recipe ", 0), 0u);
  EXPECT_NE(result.output.find("\nfloat16_master "), std::string::npos);
  EXPECT_NE(result.output.find("compare-fashion-mnist-mlp/compare.html"), std::string::npos);

  const nlohmann::json comparison = json("runs/compare-fashion-mnist-mlp/compare.json");
  ASSERT_EQ(comparison["series"].size(), 2u);
  EXPECT_EQ(comparison["series"][1]["recipe"], "float16_master");
  EXPECT_EQ(comparison["series"][1]["accuracy"]["count"], 2);
  EXPECT_EQ(comparison["series"][1]["runs"][1]["config"]["seed"], 2);
  EXPECT_TRUE(std::filesystem::exists("runs/compare-fashion-mnist-mlp/compare.html"));
}

TEST_F(Compare, ARunOfAComparisonHasTheBitsOfTheSameTraining) {
  ASSERT_EQ(run_command(tiny_compare("--recipes bfloat16,float16 --seeds 1 --out c")).code, 0);
  ASSERT_EQ(run_command("train" + tiny_compare("--recipe float16 --out t").substr(7)).code, 0);
  EXPECT_EQ(json("c/compare.json")["series"][1]["runs"][0]["steps"], json("t/record.json")["steps"]);
}

TEST_F(Compare, ARecipeThatDivergesIsReportedAndTheOthersGoOn) {
  const Streams result = run_apart(
      tiny_compare("--epochs 4 --optimizer sgd --lr 1000 --recipes float16,bfloat16 --seeds 1 --out c"));
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.output.find("float16 failed: seed 1: "), std::string::npos) << result.output;
  EXPECT_NE(result.error.find("bfloat16 seed 1: "), std::string::npos) << result.error;
  const nlohmann::json comparison = json("c/compare.json");
  EXPECT_EQ(comparison["series"][0]["runs_finished"], 0);
  EXPECT_EQ(comparison["series"][0]["runs_started"], 1);
  EXPECT_NE(comparison["series"][0]["failure"], "");
}

TEST_F(Compare, BadListsAreUsageErrors) {
  for (const char* list :
       {"", "--recipes", "--recipes float32,float17", "--recipes float32,float32",
        "--recipes float32 --seeds 0", "--recipes float32 --recipe float16", "--recipes float32 --resume"})
    EXPECT_EQ(run_command(tiny_compare(list)).code, 2) << list;
  EXPECT_FALSE(std::filesystem::exists("runs"));
}

TEST_F(Compare, AnExistingComparisonIsNotOverwritten) {
  ASSERT_EQ(run_command(tiny_compare("--recipes float32 --seeds 1 --out c")).code, 0);
  EXPECT_EQ(run_command(tiny_compare("--recipes float32 --seeds 1 --out c")).code, 2);
  ASSERT_EQ(run_command(tiny_compare("--recipes float32 --seeds 1")).code, 0);
  ASSERT_EQ(run_command(tiny_compare("--recipes float32 --seeds 1")).code, 0);
  EXPECT_TRUE(std::filesystem::exists("runs/compare-fashion-mnist-mlp-2/compare.json"));
}

}  // namespace
}  // namespace halftone
