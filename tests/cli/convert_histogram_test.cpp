// SPDX-License-Identifier: Apache-2.0
//
// The drawing, taken apart into columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/convert_files.h"
#include "cli/terminal.h"

namespace halftone {
namespace {

// Columns behind the axis, one string per line, the top first; and the bar of the target.
struct Drawing {
  explicit Drawing(const std::string& text) {
    for (const std::string& line : lines_of(text)) {
      if (const std::size_t axis = line.find("│"); axis != std::string::npos)
        rows.push_back(characters(line.substr(axis + 3)));
      if (line.find("┴") != std::string::npos) rule = line;
      if (line.find("magnitudes, ") != std::string::npos) unit = line.substr(line.find("magnitudes, ") + 12);
    }
  }
  // Eighths of a line that the column is high.
  int height(std::size_t column) const {
    int sum = 0;
    const std::vector<std::string> levels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    for (const auto& row : rows)
      if (column < row.size())
        sum += static_cast<int>(std::find(levels.begin(), levels.end(), row[column]) - levels.begin());
    return sum;
  }
  std::vector<std::vector<std::string>> rows;
  std::string rule, unit;
};

TEST(ConvertHistogram, ColumnsAreAsHighAsTheirShare) {
  const ConvertFiles files;
  std::vector<float> values;
  for (int i = 0; i < 48; ++i) values.push_back(1.5f);
  for (int i = 0; i < 24; ++i) values.push_back(-3.0f);
  for (int i = 0; i < 6; ++i) values.push_back(0.25f);
  files.save("w.npy", values);
  const std::string text = files.convert("w.npy --to float8_e4m3fn");
  const Drawing drawing(text);
  ASSERT_EQ(drawing.rows.size(), 6u);
  std::vector<int> heights;
  for (std::size_t column = 0; column < 72; ++column)
    if (const int height = drawing.height(column);
        height > 0 && (heights.empty() || heights.back() != height))
      heights.push_back(height);
  EXPECT_EQ(heights, (std::vector<int>{6, 48, 24})) << text;    // binades -2, 0, 1; -1 is empty
  EXPECT_NE(text.find("61.5 % │"), std::string::npos) << text;  // 48 of 78
}

TEST(ConvertHistogram, AFewValuesAreNotNone) {
  const ConvertFiles files;
  std::vector<float> values(10'000, 1.0f);
  values[0] = 0.001f;
  files.save("w.npy", values);
  const Drawing drawing(files.convert("w.npy --to float16"));
  int least = 48;
  for (std::size_t column = 0; column < 72; ++column)
    if (const int height = drawing.height(column); height > 0) least = std::min(least, height);
  EXPECT_EQ(least, 1);
}

TEST(ConvertHistogram, TheRangeOfTheTargetIsBelowTheValues) {
  const ConvertFiles files;
  files.save("w.npy",
             {0x1p-12f, 0x1p-9f, 0x1p-6f, 0x1p8f, 0x1p9f});  // outside, smallest, normal, largest, outside
  const std::string text = files.convert("w.npy --to float8_e4m3fn");
  const Drawing drawing(text);
  std::vector<std::string> bar;
  for (const std::string& line : lines_of(text))
    if (line.find("  float8_e4m3fn  ") == 0) bar = characters(line.substr(17));
  std::vector<std::string> below;  // what stands below the columns that are not empty
  for (std::size_t column = 0; column < 72; ++column)
    if (drawing.height(column) > 0) {
      const std::string cell = column < bar.size() ? bar[column] : " ";
      if (below.empty() || below.back() != cell) below.push_back(cell);
    }
  EXPECT_EQ(below, (std::vector<std::string>{" ", "░", "█", " "})) << text;
}

TEST(ConvertHistogram, ManyBinadesShareColumnsEvenly) {
  const ConvertFiles files;
  std::vector<float> values;
  for (int exponent = -120; exponent <= 119; ++exponent)
    values.push_back(std::exp2(static_cast<float>(exponent)));
  files.save("w.npy", values);
  const std::string text = files.convert("w.npy --to bfloat16");
  const Drawing drawing(text);
  EXPECT_EQ(drawing.unit, "4 binades a column");
  int full = 0;
  for (std::size_t column = 0; column < 72; ++column) full += drawing.height(column) == 48 ? 1 : 0;
  EXPECT_GE(full, 58) << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(characters(line).size(), 80u) << line;
}

TEST(ConvertHistogram, ZerosAndNansHaveNoPicture) {
  const ConvertFiles files;
  files.save("w.npy", {0, NAN, INFINITY});
  EXPECT_EQ(files.convert("w.npy --to float16").find("│"), std::string::npos);
}

TEST(ConvertHistogram, WhatOverflowsIsRedOnATerminal) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  const ConvertFiles files;
  files.save("w.npy", {1, 1e6f});
  EXPECT_NE(on_terminal(80, "convert " + files.path("w.npy") + " --to float16").find("\033[31m"),
            std::string::npos);
  files.save("w.npy", {1, 1e4f});
  EXPECT_EQ(on_terminal(80, "convert " + files.path("w.npy") + " --to float16").find("\033[31m"),
            std::string::npos);
}

}  // namespace
}  // namespace halftone
