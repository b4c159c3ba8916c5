// SPDX-License-Identifier: Apache-2.0
//
// Bars and rulers, measured in columns.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cli/command_text.h"
#include "cli/terminal.h"
#include "halftone/format.h"

namespace halftone {
namespace {

// What is printed at 80 columns: a line per format, the rule, the labels.
struct Picture {
  explicit Picture(const std::string& arguments) : lines(lines_of(shown("formats --ranges " + arguments))) {}

  std::vector<std::string> bar(const std::string& name) const {
    for (const std::string& line : lines)
      if (words_of(line)[0] == name) return characters(line);
    return {};
  }
  // The columns of the marks of the rule that stand above "2^a" and "2^b".
  std::size_t mark_above(const std::string& label) const {
    for (std::size_t i = 1; i < lines.size(); ++i) {
      if (lines[i - 1].find("┴") == std::string::npos) continue;
      const auto rule = characters(lines[i - 1]);
      const std::size_t begin = (" " + lines[i] + " ").find(" " + label + " ");
      if (begin == std::string::npos) return 0;
      for (std::size_t column = begin; column <= begin + label.size() && column < rule.size(); ++column)
        if (rule[column] == "┴") return column;
    }
    return 0;
  }
  std::vector<std::string> lines;
};

std::size_t first_of(const std::vector<std::string>& cells, const std::string& what) {
  return static_cast<std::size_t>(std::find(cells.begin(), cells.end(), what) - cells.begin());
}

TEST(NumberAxis, BarsBeginAndEndWhereTheLimitsAre) {
  const Picture picture("float32 float16 float8_e5m2");
  const std::size_t one = picture.mark_above("1"), low = picture.mark_above("2^-128");
  ASSERT_GT(one, low);
  const double columns_per_binade = static_cast<double>(one - low) / 128;
  const auto column = [&](double exponent) {
    return static_cast<double>(one) + exponent * columns_per_binade;
  };
  for (const DType dtype : {float32, float16, float8_e5m2}) {
    const auto cells = picture.bar(std::string(dtype.name()));
    const std::size_t begin =
        dtype == float32 ? first_of(cells, "░") : std::min(first_of(cells, "░"), first_of(cells, "▓"));
    EXPECT_NEAR(static_cast<double>(begin), column(std::log2(min_subnormal(dtype.format()))), 1.1)
        << dtype.name();
    EXPECT_NEAR(static_cast<double>(first_of(cells, "█")), column(std::log2(min_normal(dtype.format()))), 1.6)
        << dtype.name();
    EXPECT_NEAR(static_cast<double>(cells.size()), column(std::log2(max_finite(dtype.format()))), 1.1)
        << dtype.name();
  }
}

TEST(NumberAxis, OneFormatFillsTheAxis) {
  const Picture picture("float8_e4m3fn");
  const auto cells = picture.bar("float8_e4m3fn");
  EXPECT_EQ(cells[15], "░");
  EXPECT_GE(cells.size(), 74u);
  const auto subnormal = std::count(cells.begin(), cells.end(), "░"),
             normal = std::count(cells.begin(), cells.end(), "█");
  EXPECT_NEAR(static_cast<double>(subnormal) / static_cast<double>(subnormal + normal), 3.0 / 18,
              0.03);  // of 18 binades
}

TEST(NumberAxis, EvenSpacingAndScalesHaveTheirOwnCharacters) {
  const Picture picture("int32 mxfp4 float16");
  const auto whole = picture.bar("int32"), block = picture.bar("mxfp4");
  EXPECT_GT(std::count(whole.begin(), whole.end(), "▒"), 5);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), "█"), 0);
  EXPECT_GT(std::count(block.begin(), block.end(), "·"), 40);
  const std::string legend = picture.lines.back();
  for (const char* part : {"█ normal", "░ subnormal", "▒ even spacing", "· with another scale"})
    EXPECT_NE(legend.find(part), std::string::npos) << part;
  EXPECT_EQ(Picture("float16").lines.back().find("▒"), std::string::npos);
}

TEST(NumberAxis, LabelsStandUnderTheirMarksAndDoNotTouch) {
  for (const char* arguments :
       {"", "float16", "binary16p2se float64", "float4_e2m1fn", "uint8", "int64 float8_e4m3fn"}) {
    const Picture picture(arguments);
    const std::string labels = picture.lines[picture.lines.size() - 3];
    const auto words = words_of(labels);
    EXPECT_GE(words.size(), 3u) << labels;
    for (const std::string& word : words) EXPECT_NE(picture.mark_above(word), 0u) << word << "\n" << labels;
  }
}

TEST(NumberAxis, AFormatNarrowerThanAColumnIsSeen) {
  const auto cells = Picture("float64 binary16p1se int2").bar("int2");
  EXPECT_GT(cells.size(), 14u);
  EXPECT_EQ(cells.back(), "▒");
}

TEST(NumberAxis, ColoursAreForTerminals) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  EXPECT_EQ(shown("formats --ranges").find('\033'), std::string::npos);
  const std::string coloured = on_terminal(80, "formats --ranges float16");
  EXPECT_NE(coloured.find("\033[36m"), std::string::npos);
  EXPECT_NE(plain(coloured).find("░"), std::string::npos);
}

}  // namespace
}  // namespace halftone
