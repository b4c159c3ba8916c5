// SPDX-License-Identifier: Apache-2.0
//
// docs/faults.md is complete and true: every known fault has its row, and every test that a row names exists.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

const fs::path root = HALFTONE_SOURCE_DIR;

const std::map<char, std::vector<int>> entries = {
    {'A', {1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21}},
    {'B', {1, 2, 3, 5, 7, 8, 10, 11, 12, 13, 14, 15, 17, 18}},
    {'C', {1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 18, 19, 20, 21}},
    {'D', {1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 16, 17, 18, 20, 21, 22, 24, 26, 27, 28, 29, 30, 31}},
    {'E', {1, 2, 3, 5, 6, 7, 8, 9, 11, 14}}};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// "Suite.Test" of every test in tests/.
std::set<std::string> tests_there_are() {
  static const std::regex definition(R"(TEST(?:_P|_F)?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), definition), end; it != end; ++it)
      names.insert((*it)[1].str() + "." + (*it)[2].str());
  }
  return names;
}

// The rows of the tables: what stands in their cells.
std::map<std::string, std::vector<std::string>> rows() {
  std::map<std::string, std::vector<std::string>> found;
  std::istringstream lines(read(root / "docs/faults.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, std::regex(R"(^\| ([A-E]\d+) \|)"))) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    EXPECT_TRUE(found.emplace(match[1], cells).second) << match[1] << " has two rows";
  }
  return found;
}

TEST(FaultTable, EveryEntryHasItsRowAndEveryTestNamedExists) {
  const std::set<std::string> tests = tests_there_are();
  ASSERT_GT(tests.size(), 300u);
  const auto table = rows();
  std::size_t expected = 0;
  for (const auto& [section, numbers] : entries)
    for (const int number : numbers) {
      ++expected;
      const std::string id = section + std::to_string(number);
      const auto row = table.find(id);
      ASSERT_NE(row, table.end()) << id << " has no row";
      ASSERT_EQ(row->second.size(), 4u) << id;
      for (const std::string& cell : row->second) EXPECT_GT(cell.size(), 3u) << id << " has an empty cell";
      static const std::regex name(R"(`(\w+\.\w+)`)");
      const std::string& shown = row->second[3];
      int named = 0;
      for (std::sregex_iterator it(shown.begin(), shown.end(), name), end; it != end; ++it, ++named)
        EXPECT_TRUE(tests.count((*it)[1])) << id << " names " << (*it)[1] << ", which does not exist";
      EXPECT_GE(named, 1) << id << " names no test";
    }
  EXPECT_EQ(table.size(), expected) << "a row of no known fault";
}

}  // namespace
