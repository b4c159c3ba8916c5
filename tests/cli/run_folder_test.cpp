// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

using RunFolder = RunInFolder;
namespace fs = std::filesystem;

TEST_F(RunFolder, EveryRunGetsAFolderOfItsOwn) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run_command(tiny()).code, 0);
  ASSERT_EQ(run_command(tiny("--recipe bfloat16 --seed 5")).code, 0);
  for (const char* name : {"float16-1", "float16-1-2", "float16-1-3", "bfloat16-5"})
    EXPECT_TRUE(fs::exists("runs/fashion-mnist-mlp-" + std::string(name) + "/record.json")) << name;
}

TEST_F(RunFolder, ResumingTakesTheNewestRunOfThatNameOnly) {
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run_command(tiny()).code, 0);
  ASSERT_EQ(run_command(tiny("--seed 10")).code, 0);  // its name starts with that of seed 1
  fs::create_directories("runs/fashion-mnist-mlp-float16-1-empty");
  fs::last_write_time("runs/fashion-mnist-mlp-float16-1/state.safetensors", fs::file_time_type::clock::now());
  fs::last_write_time("runs/fashion-mnist-mlp-float16-1-2/state.safetensors",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  const CommandResult result = run_command(tiny("--resume"));
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("Resuming runs/fashion-mnist-mlp-float16-1.\n"), std::string::npos)
      << result.output;
}

}  // namespace
}  // namespace halftone
