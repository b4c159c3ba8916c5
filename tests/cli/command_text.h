// SPDX-License-Identifier: Apache-2.0
//
// What the program printed, taken apart.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/run_command.h"

namespace halftone {

// The output of a command that must succeed.
inline std::string shown(const std::string& arguments) {
  const CommandResult result = run_command(arguments);
  EXPECT_EQ(result.code, 0) << arguments << "\n" << result.output;
  return result.output;
}

inline void expect_usage_error(const std::string& arguments, const std::string& message) {
  const CommandResult result = run_command(arguments);
  EXPECT_EQ(result.code, 2) << arguments;
  EXPECT_THAT(result.output, ::testing::HasSubstr(message)) << arguments;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The words behind a label at the start of a line (after spaces); none if there is no such line.
inline std::vector<std::string> words_after(const std::string& text, const std::string& label) {
  for (const std::string& line : lines_of(text)) {
    std::vector<std::string> words = words_of(line);
    if (!words.empty() && words[0] == label) return {words.begin() + 1, words.end()};
  }
  return {};
}

// Characters of UTF-8, each a column wide.
inline std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> all;
  for (const char c : text)
    if ((c & 0xC0) == 0x80)
      all.back() += c;
    else
      all.emplace_back(1, c);
  return all;
}

}  // namespace halftone
