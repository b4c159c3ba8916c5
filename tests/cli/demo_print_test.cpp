// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_command.h"

namespace halftone {
namespace {

TEST(DemoPrint, BitsAreSignExponentAndSignificandOfTheFormat) {
  const std::string half = run_command("demo a").output, brain = run_command("demo c").output;
  EXPECT_NE(half.find("0 01111 0000000000\n"), std::string::npos) << half;   // 1 in float16: 5 and 10 bits
  EXPECT_NE(brain.find("0 01111111 0000000 "), std::string::npos) << brain;  // 1 in bfloat16: 8 and 7 bits
}

TEST(DemoPrint, LinesFitATerminalAndHaveNoTrailingSpaces) {
  const std::string text = run_command("demo").output;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; begin = end + 1, end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 120u) << text.substr(begin, end - begin);
    EXPECT_NE(text[end == 0 ? 0 : end - 1], ' ') << text.substr(begin, end - begin);
  }
}

}  // namespace
}  // namespace halftone
