// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "cli/bench_run.h"

namespace halftone {
namespace {

double work(const nlohmann::json& kernel) {
  return 1e3 * kernel["rate"].get<double>() * kernel["microseconds"].get<double>();
}

// By hand from the shape, "128 x 784 x 512".
TEST(BenchKernelProducts, OfALinearLayer) {
  const BenchRun run = run_bench("kernels --formats bfloat16 --only 'linear input gradient 128' --seconds 0");
  ASSERT_EQ(run.json["kernels"].size(), 4U) << run.result.output;
  for (const nlohmann::json& kernel : run.json["kernels"]) {
    std::istringstream shape(kernel["shape"].get<std::string>());
    double rows = 0, inner = 0, columns = 0;
    char x = 0;
    shape >> rows >> x >> inner >> x >> columns;
    EXPECT_NEAR(work(kernel), 2 * rows * inner * columns, 1) << kernel;
    EXPECT_EQ(kernel["unit"], "GFLOP/s");
  }
}

TEST(BenchKernelProducts, OfConvolutionsAndAttention) {
  const BenchRun run =
      run_bench("kernels --formats float32 --only '2d filter gradient 128 x 28' --seconds 0");
  ASSERT_EQ(run.json["kernels"].size(), 2U) << run.result.output;
  EXPECT_NEAR(work(run.json["kernels"][0]), 2.0 * 128 * 784 * 9 * 32, 1);
  EXPECT_NEAR(work(run.json["kernels"][1]), 2.0 * 128 * 784 * 9 * 32 * 64, 1);
  const BenchRun scores = run_bench("kernels --formats float32 --only 'attention 8' --seconds 0");
  ASSERT_EQ(scores.json["kernels"].size(), 1U) << scores.result.output;
  // 8 x 6 heads, 256 queries that see 1 to 256 keys of width 64: two products of 2 FLOPs.
  EXPECT_NEAR(work(scores.json["kernels"][0]), 2.0 * 2 * 48 * 64 * (256 * 257 / 2), 1);
}

}  // namespace
}  // namespace halftone
