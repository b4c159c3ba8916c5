// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/run_in_folder.h"

namespace halftone {
namespace {

class Generate : public RunInFolder {
 protected:
  // A small model of bytes, trained a little.
  void train(const std::string& more = "") {
    std::ofstream text("text.txt");
    for (int i = 0; i < 400; ++i) text << "the cat sat on the mat.\n";
    text.close();
    const CommandResult result = run_command(
        "train text --file text.txt --steps 4 --evaluate-every 4 --context 16 --width 16 --layers 1 --heads "
        "2 "
        "--threads 1 --out model " +
        more);
    ASSERT_EQ(result.code, 0) << result.output;
  }
};

TEST_F(Generate, WritesThePromptAndAsManyBytesAsAsked) {
  train();
  const CommandResult text = run_command("generate --model model --prompt 'the ' --tokens 30");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.output.rfind("the ", 0), 0u) << text.output;
  EXPECT_EQ(text.output.size(), 4u + 30u + 1u);
  EXPECT_EQ(run_command("generate --model model --prompt 'the ' --tokens 30").output, text.output);
  EXPECT_NE(run_command("generate --model model --prompt 'the ' --tokens 30 --seed 2").output, text.output);
}

TEST_F(Generate, GreedyTextDependsOnNoSeed) {
  train("--model llama --tokenizer bpe --vocabulary 270");
  const std::string command = "generate --model model --prompt the --tokens 20 --temperature 0 --seed ";
  const CommandResult one = run_command(command + "1");
  EXPECT_EQ(one.code, 0) << one.output;
  EXPECT_EQ(run_command(command + "2").output, one.output);
  EXPECT_EQ(run_command("generate --model model --prompt the --tokens 20 --top-k 1 --seed 3").output,
            one.output);
}

TEST_F(Generate, WhatIsNoModelIsSaidSo) {
  std::filesystem::create_directory("empty");
  const CommandResult result = run_command("generate --model empty");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("no config.json"), std::string::npos) << result.output;
  EXPECT_EQ(run_command("generate").code, 2);
}

TEST_F(Generate, OptionsOutOfRangeAreUsageErrors) {
  for (const char* option :
       {"--tokens 0", "--temperature -1", "--top-p 0", "--top-k -1", "--prompt ''", "--format int8"})
    EXPECT_EQ(run_command(std::string("generate --model x ") + option).code, 2) << option;
}

TEST_F(Generate, ATokenizerOfAnotherModelIsRefused) {
  train("--tokenizer bpe --vocabulary 270");
  std::filesystem::rename("model", "large");
  train();
  std::filesystem::copy_file("large/tokenizer.json", "model/tokenizer.json",
                             std::filesystem::copy_options::overwrite_existing);
  const CommandResult result = run_command("generate --model model");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("of the tokenizer and 256 of the model"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace halftone
