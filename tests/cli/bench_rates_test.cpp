// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/bench_run.h"

namespace halftone {
namespace {

TEST(BenchRates, WhatIsNestedCountsOnce) {
  using enum profile::Class;
  using enum profile::Role;
  const std::vector<profile::Event> caller{
      {"step", "", other, scope, 0, 0, 1000},
      {"layer_norm", "", norm, scope, 1, 100, 300},          // 200
      {"layer_norm", "", norm, loop, 2, 110, 150},           // within the 200
      {"matmul", "", matmul, scope, 2, 200, 250},            // takes 50 of it,
      {"layer_norm", "", norm, scope, 3, 210, 220},          // and gives 10 back
      {"layer_norm", "backward", norm, scope, 1, 500, 600},  // 100
      {"sum", "backward", elementwise, scope, 2, 510, 540},  // takes 30 of it
      {"layer_norm", "", norm, scope, 2, 550, 555},          // and a recomputation 5
      {"matmul", "backward", matmul, scope, 1, 700, 800},
      {"layer_norm", "backward", norm, scope, 2, 710, 711},
  };
  const std::vector<profile::Event> worker{{"layer_norm", "", norm, chunk, 0, 110, 150}};
  const profile::Recording recording{2, {caller, worker}};
  const auto nanoseconds = [&](profile::Class kind, bool backward) {
    return std::round(1e9 * cli::seconds_in(recording, kind, backward));
  };
  EXPECT_EQ(nanoseconds(norm, false), 200 - 50 + 10 + 5);
  EXPECT_EQ(nanoseconds(norm, true), 100 - 30 - 5 + 1);
  EXPECT_EQ(nanoseconds(matmul, false), 50 - 10);
  EXPECT_EQ(nanoseconds(matmul, true), 100 - 1);
  EXPECT_EQ(nanoseconds(elementwise, true), 30);
  EXPECT_EQ(nanoseconds(elementwise, false), 0);
  EXPECT_EQ(nanoseconds(other, false), 1000 - 200 - 100 - 100);
}

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
