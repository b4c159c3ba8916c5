// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

using Train = RunInFolder;

TEST_F(Train, TenLinesARecordAndAReport) {
  const Streams result = run_apart(tiny());
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 10);
  EXPECT_EQ(result.output.rfind("Trained   a multi-layer perceptron (mlp) with ", 0), 0u) << result.output;
  EXPECT_NE(result.output.find("Run       finished after 4 steps\n"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("Report    runs/fashion-mnist-mlp-float16-1/report.html"), std::string::npos);
  EXPECT_EQ(result.error.rfind("epoch 1 of 1: test accuracy ", 0), 0u) << result.error;

  const nlohmann::json record = json("runs/fashion-mnist-mlp-float16-1/record.json");
  EXPECT_EQ(record["finished"], true);
  EXPECT_EQ(record["steps"]["loss"].size(), 4u);
  EXPECT_EQ(record["config"]["batch"], 64);
  EXPECT_NE(read_file("runs/fashion-mnist-mlp-float16-1/report.html").find("of the test images right"),
            std::string::npos);
}

TEST_F(Train, TheSameSeedGivesTheSameBitsAndAnotherSeedDoesNot) {
  ASSERT_EQ(run_command(tiny("--out a")).code, 0);
  ASSERT_EQ(run_command(tiny("--out b")).code, 0);
  ASSERT_EQ(run_command(tiny("--out c --seed 2")).code, 0);
  EXPECT_EQ(json("a/record.json")["steps"], json("b/record.json")["steps"]);
  EXPECT_NE(json("a/record.json")["steps"], json("c/record.json")["steps"]);
}

TEST_F(Train, OptionsOutOfRangeAreUsageErrorsThatNameTheOption) {
  for (const auto& [option, name] : {std::pair("--epochs 0", "epochs"),
                                     {"--batch -1", "batch"},
                                     {"--lr -1", "lr"},
                                     {"--model rnn", "model"},
                                     {"--recipe float17", "recipe"},
                                     {"--optimizer adagrad", "optimizer"},
                                     {"--init-scale 0.5", "init_scale"},
                                     {"--accumulate 3", "accumulate"},
                                     {"--scaler jax", "scaler"}}) {
    const Streams result = run_apart(tiny(option));
    EXPECT_EQ(result.code, 2) << option;
    EXPECT_EQ(result.error.rfind(std::string("halftone: [") + name + "]", 0), 0u) << result.error;
  }
  EXPECT_EQ(run_command("train cifar").code, 2);
  EXPECT_FALSE(std::filesystem::exists("runs"));
}

TEST_F(Train, AFailedStartLeavesNoFolder) {
  EXPECT_EQ(run_command(tiny("--out here") + " --data nowhere").code, 1);
  EXPECT_FALSE(std::filesystem::exists("here"));
}

TEST_F(Train, AnExistingRunIsNotOverwritten) {
  ASSERT_EQ(run_command(tiny("--out a")).code, 0);
  const std::string before = read_file("a/state.safetensors");
  const Streams result = run_apart(tiny("--out a --seed 2"));
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.error.find("--resume"), std::string::npos);
  EXPECT_EQ(read_file("a/state.safetensors"), before);
}

TEST_F(Train, ALossThatIsNotFiniteFailsAndTheRecordSaysSo) {
  const Streams result = run_apart(tiny("--optimizer sgd --lr 1000 --out a"));
  ASSERT_EQ(result.code, 1) << result.output;
  EXPECT_EQ(result.output, "");
  EXPECT_NE(result.error.find("What happened until then is in a/report.html."), std::string::npos)
      << result.error;
  EXPECT_EQ(json("a/record.json")["finished"], false);
  EXPECT_NE(json("a/record.json")["failure"], "");
  EXPECT_GE(json("a/record.json")["steps"]["loss"].size(), 1u);
  EXPECT_NE(read_file("a/report.html").find("<h1>The training in float16 failed</h1>"), std::string::npos);
}

TEST_F(Train, ASignalSavesTheRunAndResumingEndsWithTheBitsOfAnUninterruptedOne) {
  const std::vector<std::string> run = {"train",  "fashion-mnist", "--model",   "mlp",      "--limit",
                                        "512",    "--batch",       "16",        "--epochs", "36",
                                        "--data", "data",          "--threads", "1"};
  std::string line;
  for (const std::string& word : run) line += word + " ";
  ASSERT_EQ(run_command(line + "--out whole").code, 0);

  EXPECT_EQ(stopped_when(run, "epoch 1 "), 1);
  const std::string error = read_file("stderr.txt");
  EXPECT_NE(error.find("the state is saved. To continue:\n  halftone train fashion-mnist"), std::string::npos)
      << error;
  EXPECT_NE(error.find("--out runs/fashion-mnist-mlp-float16-1 --resume\n"), std::string::npos) << error;
  EXPECT_LT(json("runs/fashion-mnist-mlp-float16-1/record.json")["steps"]["loss"].size(), 1152u);

  const CommandResult resumed = run_command(line + "--resume");
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_NE(resumed.output.find("Resuming runs/fashion-mnist-mlp-float16-1.\n"), std::string::npos);
  EXPECT_NE(resumed.output.find("resumed from step "), std::string::npos);
  EXPECT_EQ(json("runs/fashion-mnist-mlp-float16-1/record.json")["steps"],
            json("whole/record.json")["steps"]);
  EXPECT_EQ(json("runs/fashion-mnist-mlp-float16-1/record.json")["accuracy"],
            json("whole/record.json")["accuracy"]);
}

TEST_F(Train, ResumingWhatIsNotThereFails) {
  const Streams result = run_apart(tiny("--resume"));
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.error.find("[runs/fashion-mnist-mlp-float16-1] no run to resume"), std::string::npos)
      << result.error;
}

}  // namespace
}  // namespace halftone
