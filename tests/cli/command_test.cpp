// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

using Command = RunInFolder;
constexpr const char* kEscape = "\033";

// The output of a command on a terminal, which `script` pretends to be.
std::string on_terminal(const std::string& arguments) {
  const std::string inner = std::string(HALFTONE_COMMAND) + " " + arguments;
  const std::string line = "TERM=xterm script -qec '" + inner + "' /dev/null >terminal.txt 2>&1 </dev/null";
  EXPECT_EQ(std::system(line.c_str()), 0) << line;
  return read_file("terminal.txt");
}

bool has_script() { return std::system("command -v script >/dev/null 2>&1") == 0; }

TEST_F(Command, CommandsAreListedInTheOrderOneMeetsThem) {
  const std::string help = run_command("--help").output;
  std::size_t last = 0;
  for (const char* command :
       {"\n  train ", "\n  compare ", "\n  formats ", "\n  inspect ", "\n  demo ", "\n  ops "}) {
    const std::size_t at = help.find(command);
    ASSERT_NE(at, std::string::npos) << command;
    EXPECT_GT(at, last) << command;
    last = at;
  }
}

TEST_F(Command, AFileGetsNoColours) {
  for (const char* command : {"ops", "demo", "formats"})
    EXPECT_EQ(run_command(command).output.find(kEscape), std::string::npos) << command;
}

TEST_F(Command, ATerminalGetsColoursUnlessNoColorIsSet) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  ::unsetenv("NO_COLOR");
  EXPECT_NE(on_terminal("ops").find(kEscape), std::string::npos);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(on_terminal("ops").find(kEscape), std::string::npos);
  ::unsetenv("NO_COLOR");
}

}  // namespace
}  // namespace halftone
