// SPDX-License-Identifier: Apache-2.0
//
// Which formats are shown, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_text.h"
#include "halftone/block.h"

namespace halftone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

nlohmann::json rows(const std::string& arguments) {
  return nlohmann::json::parse(shown("formats --json " + arguments));
}

std::vector<std::string> names(const std::string& arguments) {
  std::vector<std::string> all;
  for (const auto& row : rows(arguments)) all.push_back(row["name"]);
  return all;
}

TEST(FormatsCommand, ShowsEveryRowOfBothTablesInTheirOrder) {
  std::vector<std::string> expected;
  for (const Format& row : kFormats) expected.emplace_back(row.name);
  for (const BlockFormat& row : kBlockFormats) expected.emplace_back(row.name);
  EXPECT_EQ(names(""), expected);
}

TEST(FormatsCommand, NamesChooseAndMayBeSystematic) {
  EXPECT_THAT(names("e5m7 mxfp4:rceil float16 binary8p4se"),
              ElementsAre("e5m7", "float16", "binary8p4se", "mxfp4:rceil"));
  EXPECT_THAT(names("float4_e2m1fn:8:ue5m3:nearest"), ElementsAre("float4_e2m1fn:8:ue5m3:nearest"));
  expect_usage_error("formats float9", "\"float9\"");
  expect_usage_error("formats ''", "expected one of");
}

TEST(FormatsCommand, FiltersGoByTheElementsOfBlocks) {
  for (const auto& row : rows("--max-bits 6"))
    EXPECT_LE(
        row["kind"] == "block" ? row["bits_per_element"].get<double>() - 0.5 : row["bits"].get<double>(), 6);
  EXPECT_THAT(names("--bits 4"), ElementsAre("float4_e2m1fn", "mxfp4", "nvfp4"));
  EXPECT_THAT(names("--specials nan_only"), ElementsAre("float8_e4m3fn", "float8_e8m0fnu", "mxfp8_e4m3"));
  EXPECT_THAT(names("--specials integer --bits 8"), ElementsAre("fixed8m6", "uint8", "mxint8"));
  EXPECT_THAT(names("--specials extended"), IsEmpty());
  EXPECT_THAT(names("--specials extended binary8p4se float16"), ElementsAre("binary8p4se"));
  EXPECT_EQ(shown("formats --bits 5"), "No format passes these filters.\n");
}

TEST(FormatsCommand, SortsByWhatIsAsked) {
  const auto sorted = [](const std::vector<std::string>& all) {
    return std::is_sorted(all.begin(), all.end());
  };
  const auto numbers = names("--sort name --bits 8 --specials ieee");
  EXPECT_TRUE(sorted({numbers.begin(), numbers.begin() + 3}));
  EXPECT_THAT(
      names("--sort bits float16 float4_e2m1fn float64 float8_e5m2 mxfp8_e5m2 nvfp4 mxfp4"),
      ElementsAre("float4_e2m1fn", "float8_e5m2", "float16", "float64", "mxfp4", "nvfp4", "mxfp8_e5m2"));
  EXPECT_THAT(names("--sort max float32 float16 binary16p2se binary16p3se uint8 int64"),
              ElementsAre("uint8", "float16", "int64", "float32", "binary16p3se", "binary16p2se"));
  EXPECT_THAT(names("--sort min float32 float16 binary16p2se binary16p3se uint8"),
              ElementsAre("binary16p2se", "binary16p3se", "float32", "float16", "uint8"));
  EXPECT_THAT(names("--sort epsilon bfloat16 float16 float8_e5m2 fixed8m6"),
              ElementsAre("float16", "bfloat16", "fixed8m6", "float8_e5m2"));
  EXPECT_THAT(names("--sort max mxfp8_e5m2 nvfp4 mxfp4"), ElementsAre("nvfp4", "mxfp4", "mxfp8_e5m2"));
}

TEST(FormatsCommand, OptionsAreChecked) {
  expect_usage_error("formats --bits 0", "1 to 64");
  expect_usage_error("formats --sort size", "name,bits,max,min,epsilon");
  expect_usage_error("formats --specials nan", "ieee,nan_only");
  expect_usage_error("formats --json --ranges", "excludes");
}

TEST(FormatsCommand, HelpHasExamplesThatWork) {
  const std::string help = shown("formats --help");
  EXPECT_THAT(help, HasSubstr("halftone formats --json | jq"));
  for (const std::string& line : lines_of(help))
    if (line.rfind("  halftone ", 0) == 0) shown(line.substr(11, line.find_first_of("#|") - 11));
}

}  // namespace
}  // namespace halftone
