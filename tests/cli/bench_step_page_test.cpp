// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"
#include "report/markup.h"

namespace halftone {
namespace {

TEST(BenchStepPage, IsAWholePageOfItsOwn) {
  const std::string& page = small_step().page;
  EXPECT_EQ(report::markup_error(page), "");
  for (const char* part : {"<h2>Speed</h2>", "<h2>Time</h2>", "<h2>Memory</h2>", "<h2>Machine</h2>",
                           "% of the roofline", "Where the time of a step goes", "OMP_WAIT_POLICY"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("pooling"), std::string::npos);                      // no recipe spent time in it
  EXPECT_EQ(report::occurrences(page, "<div class=\"track\">"), 3U * 2U);  // three charts, two recipes
}

TEST(BenchStepPage, WithoutMemoryThereIsNoSuchSection) {
  const BenchRun run = run_bench(
      "step --model mlp --batch 1 --recipes float32 --steps 1 --warmup 1 "
      "--repetitions 1 --no-memory");
  EXPECT_EQ(report::markup_error(run.page), "");
  EXPECT_EQ(run.page.find("<h2>Memory</h2>"), std::string::npos);
  EXPECT_FALSE(run.json["recipes"][0].contains("memory"));
}

}  // namespace
}  // namespace halftone
