// SPDX-License-Identifier: Apache-2.0
//
// The program printed in README.md is examples/readme.cpp, word for word; there it is compiled and run.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string read(const std::string& file) {
  std::ifstream in(std::string(HALFTONE_SOURCE_DIR) + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Readme, ItsProgramIsTheOneThatIsCompiledAndRun) {
  const std::string readme = read("README.md"), program = read("examples/readme.cpp");
  const std::string fence = "```cpp\n";
  const std::size_t begin = readme.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::string printed =
      readme.substr(begin + fence.size(), readme.find("```", begin + fence.size()) - begin - fence.size());
  ASSERT_GT(printed.size(), 400U);
  ASSERT_GT(program.size(), printed.size());
  const std::size_t start = program.size() - printed.size();
  EXPECT_EQ(program.substr(start), printed);
  // Whoever copies it has all of it: only comments stand above it.
  std::istringstream above(program.substr(0, start));
  for (std::string line; std::getline(above, line);)
    EXPECT_TRUE(line.empty() || line.starts_with("//")) << line;
}

}  // namespace
