// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_command.h"
#include "halftone/format.h"

namespace halftone {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(FormatsCommand, PrintsOneAlignedLinePerFormat) {
  const CommandResult result = run_command("formats");
  ASSERT_EQ(result.code, 0);
  const std::vector<std::string> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), std::size(kFormats) + 1);
  const std::size_t column = lines[0].find("specials");
  ASSERT_NE(column, std::string::npos);
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    EXPECT_EQ(lines[i + 1].rfind(kFormats[i].name, 0), 0u);
    EXPECT_EQ(lines[i + 1][column - 1], ' ');
    EXPECT_NE(lines[i + 1][column], ' ');
  }
}

TEST(FormatsCommand, ShowsThePublishedLimits) {
  const std::string output = run_command("formats").output;
  for (const char* row : {
           R"(float16 +16 +5 +10 +15 +65504 +6.10352e-05 +5.96046e-08 +0.000976562 +65536 +inf, NaN)",
           R"(bfloat16 +16 +8 +7 +127 +3.389531e\+38 +1.17549e-38 +9.18355e-41 +0.0078125 +65536 +inf, NaN)",
           R"(float8_e4m3fn +8 +4 +3 +7 +448 +0.015625 +0.00195312 +0.125 +256 +NaN)",
           R"(float64 +64 +11 +52 +1023 +1.797693e\+308 .* 2\^64 +inf, NaN)",
           R"(int64 +64 +- +- +- +9223372036854775807 +- +- +1 +2\^64 +none)",
           R"(uint8 +8 +- +- +- +255 +- +- +1 +256 +none)",
       })
    EXPECT_THAT(output, testing::ContainsRegex(row));
}

TEST(FormatsCommand, PrintsTheSameAsJson) {
  const CommandResult result = run_command("formats --json");
  ASSERT_EQ(result.code, 0);
  const auto rows = nlohmann::json::parse(result.output);
  ASSERT_EQ(rows.size(), std::size(kFormats));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Format& format = kFormats[i];
    EXPECT_EQ(rows[i]["name"], format.name);
    EXPECT_EQ(rows[i]["bits"], format.bits());
    EXPECT_EQ(rows[i]["epsilon"].get<double>(), epsilon(format));
    EXPECT_EQ(rows[i]["max_finite"].get<double>(), max_finite(format));
    if (!format.is_floating()) continue;
    EXPECT_EQ(rows[i]["exponent_bits"], format.exponent_bits);
    EXPECT_EQ(rows[i]["mantissa_bits"], format.mantissa_bits);
    EXPECT_EQ(rows[i]["bias"], format.bias);
    EXPECT_EQ(rows[i]["min_normal"].get<double>(), min_normal(format));
    EXPECT_EQ(rows[i]["min_subnormal"].get<double>(), min_subnormal(format));
  }
  EXPECT_EQ(rows[2]["codes"], 65536);
  EXPECT_EQ(rows[4]["has_infinity"], false);
  EXPECT_EQ(rows[4]["has_nan"], true);
}

TEST(FormatsCommand, HelpHasExamplesAndAStrayArgumentIsAUsageError) {
  const CommandResult help = run_command("formats --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, testing::HasSubstr("halftone formats --json"));
  EXPECT_EQ(run_command("formats float16").code, 2);
}

}  // namespace
}  // namespace halftone
