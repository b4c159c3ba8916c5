// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"

namespace halftone {
namespace {

// What a recipe needs does not depend on those measured before it.
TEST(BenchChild, EachRecipeHasAProcessOfItsOwn) {
  const nlohmann::json alone =
      run_bench("step --recipes bfloat16 --repetitions 1 " + kSmallGpt2).json["recipes"][0]["memory"];
  const nlohmann::json& second = small_step().json["recipes"][1]["memory"];
  for (const char* kind : {"parameters", "copies", "masters", "gradients", "optimizer"})
    EXPECT_EQ(alone[kind], second[kind]) << kind;
  // How many tiles the threads hold at the same moment is chance.
  EXPECT_GT(alone["activations"], 0);
  EXPECT_NEAR(alone["peak"].get<double>() / second["peak"].get<double>(), 1, 0.25);
}

TEST(BenchChild, WhatFailsThereIsSaidHere) {
  const CommandResult result =
      run_command("bench step --recipes float32 --batch 1048576 --context 1048576 --width 16 --heads 2");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("halftone: "), std::string::npos) << result.output;
}

}  // namespace
}  // namespace halftone
