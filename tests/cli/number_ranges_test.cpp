// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/command_text.h"

namespace halftone {
namespace {

std::string line_of(const std::string& output, const std::string& name) {
  for (const std::string& line : lines_of(output))
    if (line.rfind(name + " ", 0) == 0) return line;
  return "";
}

TEST(NumberRanges, EveryFormatHasItsLineWithin80Columns) {
  const std::string output = shown("formats --ranges");
  for (const char* name : {"float64", "float8_e4m3b11fnuz", "uint8", "mxfp8_e4m3", "nvfp4"})
    EXPECT_NE(line_of(output, name), "") << name;
  for (const std::string& line : lines_of(output)) {
    EXPECT_LE(characters(line).size(), 80u) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

TEST(NumberRanges, WideFormatsRunOffTheAxisOfNarrowOnes) {
  const std::string mixed = shown("formats --ranges float64 binary16p2se float16");
  for (const char* name : {"float64", "binary16p2se"}) {
    EXPECT_NE(line_of(mixed, name).find("◀"), std::string::npos) << mixed;
    EXPECT_NE(line_of(mixed, name).find("▶"), std::string::npos) << mixed;
  }
  EXPECT_EQ(line_of(mixed, "float16").find("◀"), std::string::npos);
  EXPECT_NE(mixed.find("◀ ▶ goes on"), std::string::npos);
}

TEST(NumberRanges, WideFormatsAmongThemselvesHaveTheAxis) {
  const std::string wide = shown("formats --ranges float64 binary16p2se");
  EXPECT_EQ(wide.find("◀"), std::string::npos);
  EXPECT_NE(wide.find("2^8192"), std::string::npos);
  EXPECT_LT(characters(line_of(wide, "float64")).size(), characters(line_of(wide, "binary16p2se")).size());
}

TEST(NumberRanges, WithoutFormatsThereIsNoPicture) {
  EXPECT_EQ(shown("formats --ranges --bits 5"), "No format passes these filters.\n");
}

}  // namespace
}  // namespace halftone
