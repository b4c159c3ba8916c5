// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"
#include "cli/command_text.h"

namespace halftone {
namespace {

TEST(BenchStep, WhatIsNotUnderstoodIsAUsageError) {
  expect_usage_error("bench step --model transformer", "--model");
  expect_usage_error("bench step --recipes float32,nonsense", "nonsense");
  expect_usage_error("bench step --recipes float32,bfloat16,float32", "float32 is there twice");
  expect_usage_error("bench step --optimizer adagrad", "--optimizer");
  expect_usage_error("bench step --repetitions 0", "--repetitions");
  expect_usage_error("bench step --batch -1", "--batch");
  expect_usage_error("bench step --steps many", "--steps");
  expect_usage_error("bench step --model mlp --context 8", "mlp has none");
  expect_usage_error("bench step --model cnn --checkpoint", "a model made of blocks");
  expect_usage_error("bench step --width 100 --heads 6", "a divisor of the width");
}

TEST(BenchStep, SaysWhereItsFilesAre) {
  const std::string& output = small_step().result.output;
  for (const char* part : {"numbers in ", "page in ", "trace in "})
    EXPECT_NE(output.find(part), std::string::npos) << part;
}

TEST(BenchStep, BlocksAreRecomputedOnRequest) {
  const std::string size =
      "step --recipes float32 --repetitions 1 --batch 4 --context 64 --width 64 --layers 8 --heads 2 "
      "--vocabulary 32 --steps 1 --warmup 1";
  const BenchRun kept = run_bench(size), recomputed = run_bench(size + " --checkpoint");
  ASSERT_EQ(recomputed.result.code, 0) << recomputed.result.output;
  EXPECT_EQ(recomputed.json["model"]["checkpoint"], true);
  EXPECT_LT(2 * recomputed.json["recipes"][0]["memory"]["activations"].get<double>(),
            kept.json["recipes"][0]["memory"]["activations"].get<double>());
  EXPECT_EQ(recomputed.json["flops_per_step"], kept.json["flops_per_step"]);
}

}  // namespace
}  // namespace halftone
