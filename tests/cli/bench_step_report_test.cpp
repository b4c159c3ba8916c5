// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"
#include "cli/command_text.h"
#include "halftone/profile.h"

namespace halftone {
namespace {

TEST(BenchStepReport, TheBreakdownHasAllClassesAndAddsUp) {
  for (const nlohmann::json& r : small_step().json["recipes"]) {
    const nlohmann::json& breakdown = r["breakdown"];
    ASSERT_EQ(breakdown["classes"].size(), profile::kClasses);
    double busy = 0, idle = 0;
    for (std::size_t i = 0; i < profile::kClasses; ++i) {
      const std::string name(to_string(static_cast<profile::Class>(i)));
      ASSERT_TRUE(breakdown["classes"].contains(name)) << name;
      busy += breakdown["classes"][name]["busy"].get<double>();
      idle += breakdown["classes"][name]["idle"].get<double>();
    }
    const double wall = breakdown["milliseconds"];
    EXPECT_NEAR(idle, breakdown["idle"], 1e-9 * wall);
    EXPECT_NEAR(busy + idle, wall, 1e-9 * wall);
    // What a GPT-2 is made of took time.
    for (const char* name : {"matmul", "attention", "norm", "activation", "loss", "elementwise", "embedding",
                             "optimizer", "scan", "data", "other"})
      EXPECT_GT(breakdown["classes"][name]["busy"], 0) << name;
    EXPECT_EQ(breakdown["classes"]["pooling"]["busy"], 0);
  }
  EXPECT_GT(small_step().json["recipes"][1]["breakdown"]["classes"]["cast"]["busy"], 0);
}

TEST(BenchStepReport, TheTextHasTheNumbersOfTheJson) {
  const BenchRun& run = small_step();
  const std::vector<std::string> sums = words_after(run.result.output, "sum");
  ASSERT_EQ(sums.size(), 6U) << run.result.output;  // "1.23 100.0 %" for each recipe
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(std::stod(sums[3 * i]), run.json["recipes"][i]["breakdown"]["milliseconds"], 0.006);
  EXPECT_NE(run.result.output.find("gpt2: 2 x 8 tokens, 2 layers of width 16, 7,232 parameters, adamw"),
            std::string::npos)
      << run.result.output;
}

}  // namespace
}  // namespace halftone
