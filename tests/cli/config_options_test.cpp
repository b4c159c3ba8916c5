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
    const std::size_t text = help.find_first_not_of(" ", at + 30);
    EXPECT_TRUE(text != std::string::npos && std::isalnum(static_cast<unsigned char>(help[text]))) << name;
  }
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
