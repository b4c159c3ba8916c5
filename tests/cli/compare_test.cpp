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
  ASSERT_EQ(result.code, 1) << result.error;
  EXPECT_NE(result.output.find("float16 failed: seed 1: "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("c/compare.html"), std::string::npos) << result.output;
  EXPECT_NE(result.error.find("bfloat16 seed 1: "), std::string::npos) << result.error;
  const nlohmann::json comparison = json("c/compare.json");
  EXPECT_EQ(comparison["series"][0]["runs_finished"], 0);
  EXPECT_EQ(comparison["series"][0]["runs_started"], 1);
  EXPECT_NE(comparison["series"][0]["failure"], "");
}

TEST_F(Compare, ResumingReadsWhatIsFinishedAndTrainsTheRest) {
  ASSERT_EQ(run_command(tiny_compare("--recipes float32,float16 --seeds 1 --out c")).code, 0);
  const nlohmann::json before = json("c/compare.json");
  ASSERT_EQ(run_command(tiny_compare("--recipes float32,float16,bfloat16 --seeds 2 --out whole")).code, 0);

  const Streams result =
      run_apart(tiny_compare("--recipes float32,float16,bfloat16 --seeds 2 --out c --resume"));
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.error.find("float16 seed 1: finished before\n"), std::string::npos) << result.error;
  EXPECT_EQ(result.error.find("\nfloat16 seed 1: epoch"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("bfloat16 seed 1: epoch"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("float16 seed 2: epoch"), std::string::npos) << result.error;
  const nlohmann::json after = json("c/compare.json"), whole = json("whole/compare.json");
  for (int recipe = 0; recipe < 3; ++recipe)
    for (int seed = 0; seed < 2; ++seed) {
      const nlohmann::json& run = after["series"][recipe]["runs"][seed];
      EXPECT_EQ(run["steps"], whole["series"][recipe]["runs"][seed]["steps"]);
      EXPECT_EQ(run["accuracy"], whole["series"][recipe]["runs"][seed]["accuracy"]);
    }
  // What a run has cost is not forgotten when it is only read again.
  const nlohmann::json &was = before["series"][1]["runs"][0], &is = after["series"][1]["runs"][0];
  EXPECT_GE(is["seconds"], 0.5 * was["seconds"].get<double>());
  EXPECT_GE(is["peak_memory_bytes"], was["peak_memory_bytes"]);
  EXPECT_EQ(is["images_per_second"], was["images_per_second"]);
}

TEST_F(Compare, AStoppedComparisonSaysHowToGoOnAndEndsWithTheBitsOfAWholeOne) {
  const std::string options =
      "compare fashion-mnist --model mlp --limit 512 --batch 16 --epochs 12 --data data --threads 1 "
      "--recipes float32,float16 --seeds 1 ";
  ASSERT_EQ(run_command(options + "--out whole").code, 0);
  std::vector<std::string> words;
  for (std::istringstream in(options); in >> words.emplace_back();) continue;
  words.pop_back();  // the word that was not there
  EXPECT_EQ(stopped_when(words, "float32 seed 1: epoch 1 "), 1);
  const std::string error = read_file("stderr.txt"), start = "To continue:\n  halftone ";
  const std::size_t at = error.find(start);
  ASSERT_NE(at, std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists("runs/compare-fashion-mnist-mlp/compare.json"));

  const std::string line = error.substr(at + start.size(), error.find('\n', at + start.size()));
  ASSERT_EQ(run_command(line.substr(0, line.find('\n'))).code, 0) << line;
  ASSERT_EQ(run_command(options + "--resume").code, 0);  // finds it, too
  const nlohmann::json whole = json("whole/compare.json");
  const nlohmann::json stopped = json("runs/compare-fashion-mnist-mlp/compare.json");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(stopped["series"][i]["runs"][0]["steps"], whole["series"][i]["runs"][0]["steps"]);
}

TEST_F(Compare, WhatCannotBeResumedFailsAndLosesNothing) {
  const Streams nothing = run_apart(tiny_compare("--recipes float32 --resume"));
  EXPECT_EQ(nothing.code, 1);
  EXPECT_NE(nothing.error.find("[runs/compare-fashion-mnist-mlp] no run to resume"), std::string::npos)
      << nothing.error;
  const Streams no_folder = run_apart(tiny_compare("--recipes float32 --out c --resume"));
  EXPECT_EQ(no_folder.code, 1);
  EXPECT_NE(no_folder.error.find("[c] no comparison to resume"), std::string::npos) << no_folder.error;

  ASSERT_EQ(run_command(tiny_compare("--recipes float32 --seeds 1 --out c")).code, 0);
  const std::string before = read_file("c/compare.json");
  const Streams other = run_apart(tiny_compare("--recipes float32 --seeds 1 --batch 32 --out c --resume"));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.error.find("[resume] batch = 32; expected 64 as in c/float32-1/state.safetensors"),
            std::string::npos)
      << other.error;
  EXPECT_EQ(read_file("c/compare.json"), before);
}

TEST_F(Compare, AFailedStartLeavesNoFolder) {
  EXPECT_EQ(run_command(tiny_compare("--recipes float32 --data nowhere")).code, 1);
  EXPECT_FALSE(std::filesystem::exists("runs"));
}

TEST_F(Compare, BadListsAreUsageErrors) {
  for (const char* list : {"", "--recipes", "--recipes float32,float17", "--recipes float32,float32",
                           "--recipes float32 --seeds 0", "--recipes float32 --recipe float16"})
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
