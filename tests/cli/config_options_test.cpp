// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/run_in_folder.h"
#include "train/config.h"

namespace halftone {
namespace {

using ConfigOptions = RunInFolder;

TEST_F(ConfigOptions, EveryFieldOfTheConfigurationIsAnOptionWithHelp) {
  const std::string help = run_command("train --help").output;
  for (const train::Field& field : train::config_fields()) {
    std::string name = (field.name == "task" ? "\n  " : "\n  --") + std::string(field.name);
    std::replace(name.begin(), name.end(), '_', '-');
    const std::size_t at = help.find(name + (field.name == "data" ? "," : " "));
    ASSERT_NE(at, std::string::npos) << name;
    // The text stands in column 30, of the next line where name and default are longer.
    std::string row = help.substr(at + 1, help.find("\n  -", at + 1) - at - 1);
    if (const std::size_t next = row.find("\n" + std::string(30, ' ')); next != row.npos)
      row = row.substr(next + 1);
    EXPECT_TRUE(row.size() > 30 && std::isalnum(static_cast<unsigned char>(row[30]))) << row;
  }
}

TEST_F(ConfigOptions, HelpSaysWhatTheDefaultOfATaskIsWhereItDiffers) {
  const std::string help = run_command("train --help").output;
  for (const char* option : {"--model TEXT=cnn (text: gpt2)", "--recipe TEXT=float16 (text: bfloat16)",
                             "--batch INT=128 (text: 8) ", "--weight-decay FLOAT=0.0005 (text: 0.1)",
                             "--clip-norm FLOAT=0 (text: 1)", "--epochs INT=3 "})
    EXPECT_NE(help.find(option), std::string::npos) << option << "\n" << help;
}

TEST_F(ConfigOptions, WhatIsPrintedToContinueIsUnderstood) {
  std::ofstream text("text.txt");
  for (int i = 0; i < 400; ++i) text << "the cat sat on the mat.\n";
  text.close();
  const std::vector<std::string> run = {"train",
                                        "text",
                                        "--file",
                                        "text.txt",
                                        "--checkpoint",
                                        "--prompt",
                                        "two words",
                                        "--sample-every",
                                        "500",
                                        "--steps",
                                        "1000",
                                        "--width",
                                        "16",
                                        "--layers",
                                        "1",
                                        "--heads",
                                        "2",
                                        "--context",
                                        "8",
                                        "--evaluate-every",
                                        "20",
                                        "--threads",
                                        "1"};
  EXPECT_EQ(stopped_when(run, "step 20 of"), 1);
  const std::string error = read_file("stderr.txt"), start = "To continue:\n  halftone ";
  const std::size_t at = error.find(start);
  ASSERT_NE(at, std::string::npos) << error;
  std::string line = error.substr(at + start.size());
  line = line.substr(0, line.find('\n'));
  EXPECT_NE(line.find(" --checkpoint --sample-every 500 --prompt 'two words' "), std::string::npos) << line;
  const CommandResult resumed = run_command(line);
  EXPECT_EQ(resumed.code, 0) << line << "\n" << resumed.output;
}

TEST_F(ConfigOptions, AFileIsReadAndWhatIsTypedWins) {
  std::ofstream("my.toml")
      << "model = 'mlp'\nlimit = 128\nbatch = 32\nepochs = 1\nthreads = 1\ndata = 'data'\nlr = 0.002\n";
  ASSERT_EQ(run_command("train --config my.toml --batch 64 --out a").code, 0);
  const nlohmann::json config = json("a/record.json")["config"];
  EXPECT_EQ(config["lr"], 0.002);
  EXPECT_EQ(config["limit"], 128);
  EXPECT_EQ(config["batch"], 64);
  EXPECT_EQ(json("a/record.json")["steps"]["loss"].size(), 2u);
}

TEST_F(ConfigOptions, AnOptionTypedWithItsDefaultStillWins) {
  std::ofstream("my.toml") << "seed = 9\n";
  ASSERT_EQ(run_command(tiny("--config my.toml --seed 1 --out a")).code, 0);
  EXPECT_EQ(json("a/record.json")["config"]["seed"], 1);
}

TEST_F(ConfigOptions, OfAnOptionTypedTwiceTheLastCounts) {
  ASSERT_EQ(run_command(tiny("--seed 3 --seed 4 --out a")).code, 0);
  EXPECT_EQ(json("a/record.json")["config"]["seed"], 4);
}

// Of a shell variable that is not set: not the default.
TEST_F(ConfigOptions, AnEmptyPathIsAUsageError) {
  const Streams result = run_apart("train text --file ''");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.error.find("an empty path"), std::string::npos) << result.error;
}

TEST_F(ConfigOptions, AFileThatCannotBeUnderstoodIsAUsageErrorNamingThePlace) {
  std::ofstream("bad.toml") << "model = 'mlp'\nepochz = 3\n";
  const Streams result = run_apart(tiny("--config bad.toml"));
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.error.find("bad.toml:2"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("epochz"), std::string::npos) << result.error;
  EXPECT_EQ(run_command(tiny("--config missing.toml")).code, 2);
}

}  // namespace
}  // namespace halftone
