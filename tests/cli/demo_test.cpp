// SPDX-License-Identifier: Apache-2.0
//
// The oracle is arithmetic done by hand on the definition of the formats.
#include <gtest/gtest.h>

#include <regex>

#include "cli/run_command.h"

namespace halftone {
namespace {

std::string demo(const std::string& letters) {
  const CommandResult result = run_command("demo " + letters);
  EXPECT_EQ(result.code, 0) << result.output;
  return result.output;
}

// True if a line has these columns, with any number of spaces between.
bool has_row(const std::string& text, const std::string& columns) {
  return std::regex_search(
      text, std::regex("\n +" + std::regex_replace(columns, std::regex(" \\| "), " +") + "\n"));
}

TEST(Demo, TheMasterReachesWhatFloat16AloneNeverLeaves) {
  const std::string text = demo("a");
  EXPECT_TRUE(has_row(text, "step 4 | 1 | 0.9990234375 | 0.9990234375 | 0 01110 1111111110")) << text;
  EXPECT_TRUE(has_row(text, "step 1 | 1 | 0.999755859375 | 1 | 0 01111 0000000000")) << text;
}

TEST(Demo, ASmallGradientSurvivesScaled) {
  const std::string text = demo("b");
  EXPECT_TRUE(has_row(text, "not scaled | 0 | 0 00000 0000000000 | weight's gradient 0")) << text;
  // 65536e-8 in float16: 2^-11 (1 + 350/1024) = 0.00065517..., and that over 65536.
  EXPECT_TRUE(has_row(text, "times 65536 | 0.000655174 | 0 00100 0101011110 | unscaled again 9.997166e-09"))
      << text;
}

TEST(Demo, ABfloat16SumStopsAt256) {
  const std::string text = demo("c");
  EXPECT_TRUE(has_row(text, "1000 | 256 | 0 10000111 0000000 | 1000")) << text;
  EXPECT_NE(text.find("which adds in float32: 1000."), std::string::npos) << text;
  EXPECT_NE(text.find("The next bfloat16 after 256 is 258"), std::string::npos) << text;
}

TEST(Demo, TheScaleDoublesAfterTheIntervalAndHalvesOnAnOverflow) {
  const std::string text = demo("d");
  EXPECT_TRUE(has_row(text, "3 | 32768 | 32768 | 0.625 | applied, scale doubled")) << text;
  EXPECT_TRUE(has_row(text, "4 | 65536 | inf | 0.625 | skipped, scale halved")) << text;
  EXPECT_TRUE(has_row(text, "5 | 32768 | 32768 | 0.5 | applied")) << text;
}

TEST(Demo, Float16OverflowsWhereBfloat16DoesNot) {
  const std::string text = demo("e");
  EXPECT_TRUE(has_row(text, "65519 | 65504 | 0 11110 1111111111 | 65536 | 0 10001111 0000000")) << text;
  EXPECT_TRUE(has_row(text, "65520 | inf | 0 11111 0000000000 | 65536 | 0 10001111 0000000")) << text;
  EXPECT_TRUE(has_row(text, "65504 \\+ 65504 | inf | 0 11111 0000000000 | 131072 | 0 10010000 0000000"))
      << text;
}

TEST(Demo, AScaledLossHasScaledGradientsWithTheSameBits) {
  const std::string text = demo("f");
  // 2/3 (0.1 * 0.5 - 1) * 0.5 = -0.316666..., times 65536 = -20753.06...
  EXPECT_TRUE(has_row(text, "0.1 | -0.3166666\\d+ | -20753.06\\d* | -0.3166666\\d+ | yes")) << text;
  EXPECT_EQ(text.find(" no\n"), std::string::npos);
}

TEST(Demo, AllOfThemOrThoseAskedFor) {
  const std::string all = demo("");
  for (const char* letter : {"(a) ", "(b) ", "(c) ", "(d) ", "(e) ", "(f) "})
    EXPECT_NE(all.find(letter), std::string::npos) << letter;
  EXPECT_EQ(demo("e c"), demo("c") + "\n" + demo("e"));
  EXPECT_EQ(run_command("demo z").code, 2);
}

}  // namespace
}  // namespace halftone
