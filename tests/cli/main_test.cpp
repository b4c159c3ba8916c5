// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

using Main = RunInFolder;

TEST_F(Main, WithoutArgumentsHelpIsPrinted) {
  const Streams result = run_apart("");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, run_apart("--help").output);
  for (const char* command : {"train", "compare", "formats", "inspect", "demo", "memory", "ops", "Examples:"})
    EXPECT_NE(result.output.find(command), std::string::npos) << command;
}

TEST_F(Main, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"train", "compare", "formats", "inspect", "demo", "memory", "ops"}) {
    const CommandResult result = run_command(std::string(command) + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_NE(result.output.find("Examples:"), std::string::npos) << command;
  }
}

TEST_F(Main, TheVersionIsThatOfTheProject) {
  const CommandResult result = run_command("--version");
  EXPECT_EQ(result.code, 0);
  const std::string cmake = read_file(std::string(HALFTONE_SOURCE_DIR) + "/CMakeLists.txt");
  const std::string version = result.output.substr(9, result.output.size() - 10);  // "halftone X.Y.Z\n"
  EXPECT_NE(cmake.find("project(halftone VERSION " + version + " "), std::string::npos) << result.output;
}

TEST_F(Main, WhatIsNotUnderstoodExitsWithTwoAndSaysWhereHelpIs) {
  for (const char* arguments :
       {"bogus", "--bogus", "train fashion-mnist --bogus", "train fashion-mnist --epochs x",
        "train fashion-mnist --epochs", "ops extra", "train fashion-mnist extra"}) {
    const Streams result = run_apart(arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_EQ(result.output, "") << arguments;
    EXPECT_EQ(result.error.rfind("halftone: ", 0), 0u) << result.error;
    EXPECT_NE(result.error.find("--help'."), std::string::npos) << result.error;
  }
}

TEST_F(Main, HelpIsThatOfTheCommandThatWasNotUnderstood) {
  EXPECT_NE(run_command("--bogus").output.find("Try 'halftone --help'."), std::string::npos);
  EXPECT_NE(run_command("train --bogus").output.find("Try 'halftone train --help'."), std::string::npos);
  EXPECT_NE(run_command("bench step --bogus").output.find("Try 'halftone bench step --help'."),
            std::string::npos);
}

TEST_F(Main, WhatFailsExitsWithOneAndOneLine) {
  const Streams result = run_apart(tiny() + "--data nowhere");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.error.rfind("halftone: [nowhere/train-images-idx3-ubyte]", 0), 0u) << result.error;
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1);
}

TEST_F(Main, ThreadsWaitPassivelyUnlessTheUserSaysOtherwise) {
  ::unsetenv("OMP_WAIT_POLICY");
  ASSERT_EQ(run_command(tiny("--out passive")).code, 0);
  EXPECT_EQ(json("passive/record.json")["machine"]["wait_policy"], "PASSIVE");
  ::setenv("OMP_WAIT_POLICY", "ACTIVE", 1);
  const int code = run_command(tiny("--out active")).code;
  ::unsetenv("OMP_WAIT_POLICY");
  ASSERT_EQ(code, 0);
  EXPECT_EQ(json("active/record.json")["machine"]["wait_policy"], "ACTIVE");
}

TEST_F(Main, AFullDiskIsAFailureAndNotSilence) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(run_command("ops >/dev/full 2>stderr.txt #").code, 1);
  EXPECT_EQ(read_file("stderr.txt"), "halftone: standard output cannot be written\n");
}

}  // namespace
}  // namespace halftone
