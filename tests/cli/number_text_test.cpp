// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/command_text.h"
#include "cli/terminal.h"

namespace halftone {
namespace {

// Where a part begins, in columns.
std::size_t column_of(const std::string& line, const std::string& part) {
  const std::size_t at = line.find(part);
  return at == std::string::npos ? at : characters(line.substr(0, at)).size();
}

TEST(NumberText, ColumnsLineUpWhereCharactersTakeSeveralBytes) {
  // The sign is one column and two bytes, or one.
  const auto table = lines_of(shown("formats float16 uint8 ue5m3"));
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(column_of(table[i], "to_special"), column_of(table[0], "overflow")) << table[i];
  // So is the ellipsis of a long number.
  std::vector<std::size_t> columns;
  for (const std::string& line : lines_of(shown("inspect 1e-310 -f float64")))
    if (line.find("with probability") != std::string::npos)
      columns.push_back(column_of(line, "with probability"));
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0], columns[1]);
}

TEST(NumberText, WithoutATerminalColumnsIsBelieved) {
  const auto widest = [](const std::string& columns) {
    std::size_t most = 0;
    const std::string line = "env COLUMNS=" + columns + " " + HALFTONE_COMMAND + " formats --ranges";
    for (const std::string& text : lines_of(run_command("--version >/dev/null; " + line).output))
      if (text.find("normal") == std::string::npos) most = std::max(most, characters(text).size());
    return most;  // the legend is as long as it is
  };
  EXPECT_LE(widest("80"), 80u);
  EXPECT_GT(widest("80"), 70u);
  EXPECT_LE(widest("60"), 60u);
  EXPECT_GT(widest("110"), 100u);
  EXPECT_LE(widest("nonsense"), 80u);
  EXPECT_LE(widest("-5"), 80u);
}

TEST(NumberText, ATerminalIsAskedForItsWidth) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  for (const int width : {60, 90, 118}) {
    std::size_t most = 0;
    for (const std::string& line : lines_of(plain(on_terminal(width, "formats --ranges --bits 16"))))
      most = std::max(most, characters(line).size());
    EXPECT_LE(most, static_cast<std::size_t>(width));
    EXPECT_GE(most + 10, static_cast<std::size_t>(width));
  }
}

}  // namespace
}  // namespace halftone
