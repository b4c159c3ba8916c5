// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cli/run_in_folder.h"
#include "cli/terminal.h"

namespace halftone {
namespace {

using Progress = RunInFolder;

TEST_F(Progress, AFileGetsOneLinePerEpochAndNoBar) {
  const Streams result = run_apart(tiny("--epochs 3"));
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 3);
  EXPECT_EQ(result.error.find('\r'), std::string::npos);
  EXPECT_EQ(result.error.find('\033'), std::string::npos);
  for (const char* part :
       {"epoch 1 of 3: test accuracy ", "epoch 3 of 3: ", "test loss ", "images/s, scale 65,536, 0 skips"})
    EXPECT_NE(result.error.find(part), std::string::npos) << part;
}

TEST_F(Progress, ATerminalGetsABarThatIsClearedForTheEpochsLine) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  const std::string line = "TERM=xterm script -qec 'stty cols 110; " + std::string(HALFTONE_COMMAND) + " " +
                           tiny() + "' /dev/null >terminal.txt 2>&1 </dev/null";
  ASSERT_EQ(std::system(line.c_str()), 0);
  const std::string shown = read_file("terminal.txt");
  const std::size_t bar = shown.find("\repoch 1/1 [");
  ASSERT_NE(bar, std::string::npos) << shown;
  const std::string first = shown.substr(bar + 1, shown.find("\033[K", bar) - bar - 1);
  EXPECT_LT(first.size(), 110u) << first;
  for (const char* part : {"] ", " %  loss ", " images/s  scale ", " skips  ", " left"})
    EXPECT_NE(first.find(part), std::string::npos) << first;
  EXPECT_NE(shown.find("\r\033[Kepoch 1 of 1: test accuracy "), std::string::npos) << shown;
}

TEST_F(Progress, ASampleSendsNoControlCharactersToATerminal) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  std::ofstream text("text.txt");
  for (int i = 0; i < 400; ++i) text << "the cat sat on the mat.\n";
  text.close();
  // After one step all bytes are as good as equally likely.
  const std::string arguments =
      "train text --file text.txt --steps 1 --sample-every 1 --context 16 --width 16 --layers 1 --heads 2 "
      "--threads 1 --out ";
  const auto control = [](char c) {  // but those of the bar
    return static_cast<unsigned char>(c) < ' ' &&
           std::string_view("\n\t\r\033").find(c) == std::string_view::npos;
  };
  const std::string file = run_command(arguments + "a").output, terminal = on_terminal(100, arguments + "b");
  EXPECT_GT(std::count_if(file.begin(), file.end(), control), 0);
  EXPECT_EQ(std::count_if(terminal.begin(), terminal.end(), control), 0);
  EXPECT_NE(terminal.find("step 1 writes: "), std::string::npos);
}

TEST_F(Progress, TheScaleThatMadeAStepOverflowIsInTheFailedRunsRecord) {
  // A loss scale of 2^24 overflows float16 gradients at once; the run then fails for its learning rate.
  const Streams result =
      run_apart(tiny("--epochs 40 --init-scale 16777216 --optimizer sgd --lr 1000 --out a"));
  ASSERT_EQ(result.code, 1) << result.output;
  const nlohmann::json record = json("a/record.json");
  ASSERT_GE(record["skips"].size(), 1u);
  EXPECT_EQ(record["skips"][0]["step"], 1);
  EXPECT_EQ(record["skips"][0]["scale"], 16777216);
  EXPECT_EQ(record["steps"]["applied"][0], false);
  EXPECT_EQ(record["steps"]["scale"][1], 8388608);
}

}  // namespace
}  // namespace halftone
