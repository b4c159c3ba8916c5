// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"
#include "cli/command_text.h"
#include "report/markup.h"

namespace halftone {
namespace {

TEST(BenchOps, EveryOpHasThreeTimesInTwoFormats) {
  const BenchRun run = run_bench("ops --size 2 --seconds 0");
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  EXPECT_EQ(run.json["size"], 2);
  std::map<std::string, int> count;
  for (const nlohmann::json& op : run.json["ops"]) {
    ++count[op["op"]];
    for (const char* kind : {"no_grad", "forward", "forward_and_backward"}) EXPECT_GT(op[kind], 0) << op;
  }
  for (const char* name : {"add", "mul", "linear", "matmul", "layer_norm", "reshape"})
    EXPECT_EQ(count[name], 2) << name;
  EXPECT_EQ(report::markup_error(run.page), "");
  EXPECT_EQ(words_after(run.result.output, "linear").size(), 4U);
}

TEST(BenchOps, WhatIsNotUnderstoodIsAUsageError) {
  expect_usage_error("bench ops --size 0", "--size");
  expect_usage_error("bench ops --threads 0", "--threads");
}

}  // namespace
}  // namespace halftone
