// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/command_text.h"
#include "cli/terminal.h"
#include "halftone/block.h"

namespace halftone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(NumberTable, PrintsOneAlignedLinePerFormat) {
  const auto lines = lines_of(shown("formats"));
  const std::size_t column = lines[0].find("specials");
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const auto text = characters(lines[i + 1]);
    EXPECT_EQ(lines[i + 1].rfind(kFormats[i].name, 0), 0u);
    EXPECT_EQ(text[column - 1], " ");
    EXPECT_NE(text[column], " ");
  }
  std::size_t blocks = 0;
  while (lines[blocks].rfind("block format", 0) != 0) ++blocks;
  for (std::size_t i = 0; i < std::size(kBlockFormats); ++i)
    EXPECT_EQ(lines[blocks + 1 + i].rfind(kBlockFormats[i].name, 0), 0u);
}

TEST(NumberTable, ShowsThePublishedLimits) {
  const std::string output = shown("formats");
  for (
      const char* row : {
          R"(float16 +16 +± +5 +10 +15 +65504 +6.10352e-05 +5.96046e-08 +0.000976562 +65536 +inf, NaN +to_special: inf)",
          R"(bfloat16 +16 +± +8 +7 +127 +3.389531e\+38 +1.17549e-38 +9.18355e-41 +0.0078125 +65536 +inf, NaN)",
          R"(float8_e4m3fn +8 +± +4 +3 +7 +448 +0.015625 +0.00195312 +0.125 +256 +NaN +to_special: NaN)",
          R"(float64 +64 +± +11 +52 +1023 +1.797693e\+308 .* 2\^64 +inf, NaN)",
          R"(int64 +64 +± +- +- +- +2\^63-1 +- +- +1 +2\^64 +none +to_special: largest)",
          R"(uint8 +8 +\+ +- +- +- +255 +- +- +1 +256 +none)",
          R"(float8_e8m0fnu +8 +\+ +8 +0 +127 +1.701412e\+38 +5.87747e-39 +- +1 +256 +NaN, no zero)",
          R"(fixed8m6 +8 +± +- +- +6 +1.984375 +0.015625 +- +0.015625 +256 +none)",
          R"(mxfp4 +4.25 +float4_e2m1fn +32 +float8_e8m0fnu +floor +1.020847e\+39 +2.93874e-39 +-)",
          R"(nvfp4 +4.5 +float4_e2m1fn +16 +float8_e4m3fn +nearest +2688 +0.000976562 +float32)",
      })
    EXPECT_THAT(output, ContainsRegex(row));
}

TEST(NumberTable, FormatsBeyondDoubleHaveTheirLimits) {
  const std::string output = shown("formats binary16p2se binary8p4sf ue5m3");
  EXPECT_THAT(output, ContainsRegex(
                          "binary16p2se .* 5.453741e\\+2465 +1.8336e-2466 +9.16802e-2467 +0.5 .* one zero"));
  EXPECT_THAT(output, ContainsRegex("binary8p4sf .* NaN, one zero +keep_infinity: largest"));
  EXPECT_THAT(output, ContainsRegex("ue5m3 +8 +\\+ +5 +3 +15 +61440 "));
}

TEST(NumberTable, TheDefaultConversionIsStated) {
  EXPECT_THAT(shown("formats float16"), HasSubstr("rounds nearest_even, keeps subnormals"));
}

TEST(NumberTable, ANarrowTerminalGetsTheColumnsThatFitAndIsToldOfTheOthers) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  for (const int width : {60, 80, 120}) {
    const std::string output = plain(on_terminal(width, "formats"));
    EXPECT_THAT(output, HasSubstr("In a wider terminal also: codes, bias"));
    EXPECT_THAT(output, ContainsRegex("float16 +16 .* 65504"));
    for (const std::string& line : lines_of(output)) {
      const bool is_note = line.find("  ") == std::string::npos;
      EXPECT_LE(characters(line).size(), is_note ? 130u : std::max(64u, static_cast<unsigned>(width)))
          << line;
    }
  }
  EXPECT_THAT(plain(on_terminal(200, "formats")), Not(HasSubstr("In a wider")));
}

}  // namespace
}  // namespace halftone
