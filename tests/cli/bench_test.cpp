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
  EXPECT_NE(result.output.find("/nowhere/at/all.json"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace halftone
