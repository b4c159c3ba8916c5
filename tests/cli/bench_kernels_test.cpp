// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"
#include "cli/command_text.h"
#include "report/markup.h"

namespace halftone {
namespace {

TEST(BenchKernels, TextPageAndJsonHaveTheSameRows) {
  const BenchRun run = run_bench("kernels --formats float32,bfloat16 --only embedding --seconds 0");
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  EXPECT_EQ(run.json["benchmark"], "kernels");
  ASSERT_EQ(run.json["kernels"].size(), 2U);
  EXPECT_EQ(run.json["kernels"][1]["format"], "bfloat16");
  EXPECT_EQ(words_after(run.result.output, "embedding").size(), 9U) << run.result.output;
  EXPECT_EQ(report::markup_error(run.page), "");
  EXPECT_EQ(report::occurrences(run.page, "<td>embedding</td>"), 2U);
}

TEST(BenchKernels, WhatIsNotUnderstoodIsAUsageError) {
  expect_usage_error("bench kernels --formats float17", "float17");
  expect_usage_error("bench kernels --formats int32", "int32");
  expect_usage_error("bench kernels --formats float16,float32,float16", "float16 is there twice");
  expect_usage_error("bench kernels --only fft", "no kernel");
  expect_usage_error("bench kernels --seconds -1", "--seconds");
}

}  // namespace
}  // namespace halftone
