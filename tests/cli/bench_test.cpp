// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"
#include "cli/command_text.h"

namespace halftone {
namespace {

TEST(Bench, NeedsToKnowWhat) {
  EXPECT_EQ(run_command("bench").code, 2);
  EXPECT_EQ(run_command("bench everything").code, 2);
  const std::string help = shown("bench --help");
  for (const char* part : {"step", "kernels", "ops", "Examples:"})
    EXPECT_NE(help.find(part), std::string::npos) << part;
}

TEST(Bench, SaysWhereAndWhenItMeasured) {
  const nlohmann::json& here = small_step().json["environment"];
  EXPECT_GE(here["threads"].get<int>(), 1);
  EXPECT_FALSE(here["processor"].get<std::string>().empty());
  EXPECT_FALSE(here["wait_policy"].get<std::string>().empty());  // the command sets one
  EXPECT_EQ(here["date"].get<std::string>().size(), 20U);
}

TEST(Bench, ThreadsAreThoseAskedFor) {
  const BenchRun run = run_bench(
      "step --model mlp --batch 4 --recipes float32 --steps 1 --warmup 1 "
      "--repetitions 1 --no-memory --threads 3");
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  EXPECT_EQ(run.json["environment"]["threads"], 3);
}

TEST(Bench, AFileThatCannotBeWrittenIsAnError) {
  const CommandResult result = run_command("bench ops --size 1 --seconds 0 --json /nowhere/at/all.json");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.output.rfind("halftone: [/nowhere/at/all.json] ", 0), 0U) << result.output;
}

TEST(Bench, FilesAreTriedBeforeAnythingIsMeasured) {
  const testing::Scratch folder;
  const std::string good = (folder / "good.json").string();
  for (const char* bench : {"ops --size 1 --seconds 0", "kernels --only rms_norm --seconds 0", "step"}) {
    const CommandResult result =
        run_command(std::string("bench ") + bench + " --json " + good + " --html /nowhere/page.html");
    EXPECT_EQ(result.code, 1) << bench;
    EXPECT_EQ(lines_of(result.output).size(), 1U) << result.output;  // the message, and no table
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  expect_usage_error("bench ops --json " + good + " --html " + (folder / "./good.json").string(),
                     "two outputs");
  expect_usage_error("bench step --json " + good + " --trace " + good, "two outputs");
}

TEST(Bench, WhatIsNoTimeIsAUsageError) {
  for (const char* bench : {"step", "kernels", "ops"})
    for (const char* seconds : {"nan", "-1", "inf", "soon"})
      expect_usage_error(std::string("bench ") + bench + " --seconds " + seconds, "--seconds");
}

}  // namespace
}  // namespace halftone
