// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "cli/bench_run.h"

namespace halftone {
namespace {

std::map<std::string, double> bytes_of(const std::string& format, const std::string& only) {
  const BenchRun run = run_bench("kernels --formats " + format + " --only '" + only + "' --seconds 0");
  EXPECT_EQ(run.result.code, 0) << run.result.output;
  std::map<std::string, double> bytes;
  for (const nlohmann::json& kernel : run.json["kernels"]) {
    EXPECT_EQ(kernel["unit"], "GB/s");
    bytes[kernel["kernel"]] =
        std::round(1e3 * kernel["rate"].get<double>() * kernel["microseconds"].get<double>());
  }
  return bytes;
}

TEST(BenchKernelMemory, PassesOverTheTensors) {
  EXPECT_EQ(bytes_of("bfloat16", "layer_norm"),
            (std::map<std::string, double>{{"layer_norm", 2 * 2 * 2048 * 384},
                                           {"layer_norm backward", 3 * 2 * 2048 * 384}}));
  EXPECT_EQ(
      bytes_of("float16", "silu"),
      (std::map<std::string, double>{{"silu", 2 * 2 * 2048 * 1536}, {"silu backward", 3 * 2 * 2048 * 1536}}));
}

TEST(BenchKernelMemory, UpdatesScansAndCasts) {
  constexpr double kParameters = 1 << 22;
  EXPECT_EQ(bytes_of("float32", "adamw"), (std::map<std::string, double>{{"adamw", 28 * kParameters}}));
  EXPECT_EQ(bytes_of("float32", "finite"),
            (std::map<std::string, double>{{"finite check and norm", 4 * kParameters},
                                           {"unscale, finite check and norm", 8 * kParameters}}));
  EXPECT_EQ(bytes_of("float8_e4m3fn", "cast"),
            (std::map<std::string, double>{{"cast from float32", 5 * kParameters},
                                           {"cast to float32", 5 * kParameters}}));
}

}  // namespace
}  // namespace halftone
