// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

using Explain = RunInFolder;

TEST_F(Explain, ShowsEveryOpOfOneForwardPass) {
  const CommandResult result = run_command("explain fashion-mnist --recipe float16");
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output.rfind("op ", 0), 0u);
  for (const char* part : {"conv2d", "conv1.weight", "float32 -> float16", "batch_norm", "inside_float32",
                           "cross_entropy", "computed and stored in float32"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part;
}

TEST_F(Explain, AsJsonWithShortOperands) {
  const CommandResult result = run_command("explain fashion-mnist --model mlp --recipe mxfp8 --json");
  ASSERT_EQ(result.code, 0);
  const nlohmann::json json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["recipe"], "mxfp8");
  int layers = 0;
  for (const auto& call : json["calls"]) layers += call["op"] == "linear" && call["short_operands"] == true;
  EXPECT_EQ(layers, 3);
}

TEST_F(Explain, AShortTextNeedsAShortContext) {
  std::ofstream("short.txt") << std::string(400, 'a');
  const CommandResult refused = run_command("explain text --file short.txt");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.output.find("--context"), std::string::npos) << refused.output;
  EXPECT_EQ(run_command("explain text --file short.txt --context 8").code, 0);
}

TEST_F(Explain, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run_command("explain fashion-mnist --recipe float17").code, 2);
  EXPECT_EQ(run_command("explain fashion-mnist --epochs 3").code, 2);
}

}  // namespace
}  // namespace halftone
