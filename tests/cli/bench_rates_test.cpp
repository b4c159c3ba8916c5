// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"

namespace halftone {
namespace {

TEST(BenchRates, OfTheYardstickIsAQuotient) {
  const BenchRun run = run_bench("kernels --formats float32 --only rms_norm --seconds 0");
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  ASSERT_EQ(run.json["kernels"].size(), 2U);
  for (const nlohmann::json& kernel : run.json["kernels"]) {
    EXPECT_GT(kernel["yardstick"], 0);
    EXPECT_NEAR(kernel["of_yardstick"].get<double>() * kernel["yardstick"].get<double>(), kernel["rate"],
                1e-6);
  }
}

}  // namespace
}  // namespace halftone
