// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/bench_run.h"

namespace halftone {
namespace {

TEST(BenchSteps, EveryRecipeHasItsTurns) {
  const BenchRun& run = small_step();
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  const nlohmann::json& recipes = run.json["recipes"];
  ASSERT_EQ(recipes.size(), 2U);
  const char* names[] = {"float32", "bfloat16"};
  for (std::size_t i = 0; i < 2; ++i) {
    const nlohmann::json& r = recipes[i];
    EXPECT_EQ(r["recipe"], names[i]);
    EXPECT_EQ(r["compute"], names[i]);
    EXPECT_EQ(r["steps_per_turn"], 3);
    EXPECT_EQ(r["rejected_steps"], 0);
    std::vector<double> turns = r["turns"];
    ASSERT_EQ(turns.size(), 3U);
    std::sort(turns.begin(), turns.end());
    EXPECT_DOUBLE_EQ(r["milliseconds"], turns[1]);
    // 2 sequences of 8 tokens in each step.
    EXPECT_NEAR(r["items_per_second"], 16e3 / turns[1], 1e-6 * r["items_per_second"].get<double>());
    EXPECT_NEAR(r["slowest"], 16e3 / turns[2], 1e-6 * r["slowest"].get<double>());
    EXPECT_NEAR(r["fastest"], 16e3 / turns[0], 1e-6 * r["fastest"].get<double>());
    EXPECT_GE(r["page_faults_per_step"], 0);
  }
}

TEST(BenchSteps, TheRooflineIsTheBestMatmulOfTheProcess) {
  for (const nlohmann::json& r : small_step().json["recipes"]) {
    const double gflops =
        small_step().json["flops_per_step"].get<double>() / r["milliseconds"].get<double>() * 1e-6;
    EXPECT_NEAR(r["gflops"], gflops, 1e-6 * gflops);
    EXPECT_GT(r["matmul_gflops"], 0);
    EXPECT_NEAR(r["of_roofline"], gflops / r["matmul_gflops"].get<double>(), 1e-6);
  }
}

// No step is shorter than no time, and one of a single image is shorter than a second on any machine.
TEST(BenchSteps, ATurnHasTheStepsThatFitIntoItsSeconds) {
  const auto steps = [](const std::string& seconds) {
    const BenchRun run = run_bench(
        "step --model mlp --batch 1 --recipes float32 --warmup 1 --repetitions 1 --no-memory --seconds " +
        seconds);
    EXPECT_EQ(run.result.code, 0) << run.result.output;
    return run.json["recipes"][0]["steps_per_turn"].get<int>();
  };
  EXPECT_EQ(steps("0"), 1);
  EXPECT_GT(steps("2"), 1);
}

}  // namespace
}  // namespace halftone
