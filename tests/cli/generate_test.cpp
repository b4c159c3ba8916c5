// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/run_in_folder.h"
#include "cli/terminal.h"

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

// In a file of the model's folder.
void replace(const std::string& file, const std::string& from, const std::string& to) {
  std::ifstream stream(file);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_NE(text.find(from), std::string::npos) << file;
  text.replace(text.find(from), from.size(), to);
  std::ofstream(file) << text;
}

TEST_F(Generate, EndsWhereTheModelsFolderSays) {
  train();
  const std::string command = "generate --model model --prompt 'the ' --tokens 5 --temperature 0";
  const std::string text = run_command(command).output;
  ASSERT_EQ(text.size(), 4u + 5u + 1u);
  const int first = static_cast<unsigned char>(text[4]);
  replace("model/config.json", "\"eos_token_id\": null", "\"eos_token_id\": [" + std::to_string(first) + "]");
  EXPECT_EQ(run_command(command).output, "the \n");
}

TEST_F(Generate, PutsTheTokenizersTemplateBeforeThePrompt) {
  train();
  const std::string rest = " --tokens 9 --temperature 0";
  const std::string whole = run_command("generate --model model --prompt 'the '" + rest).output;
  replace("model/tokenizer.json", "\"post_processor\": null",
          R"("post_processor": {"type": "TemplateProcessing",
             "single": [{"SpecialToken": {"id": "t"}}, {"Sequence": {"id": "A"}}],
             "special_tokens": {"t": {"ids": [116]}}})");  // the byte t
  EXPECT_EQ("t" + run_command("generate --model model --prompt 'he '" + rest).output, whole);
}

TEST_F(Generate, AFewTokensAreEnoughIfTheyHaveAFile) {
  std::string vocab = R"(" ": 0, ".": 1, "\n": 2)";
  for (char c = 'a'; c <= 'z'; ++c)
    vocab += ", \"" + std::string(1, c) + "\": " + std::to_string(3 + c - 'a');
  std::ofstream("letters.json") << R"({"model": {"type": "BPE", "merges": [], "vocab": {)" << vocab << "}}}";
  train("--tokenizer letters.json");
  EXPECT_EQ(run_command("generate --model model --prompt the --tokens 5").output.size(), 3u + 5u + 1u);
  std::filesystem::remove("model/tokenizer.json");
  const CommandResult result = run_command("generate --model model --prompt the");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("no tokenizer.json, and 29 tokens of the model"), std::string::npos)
      << result.output;
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
       {"--tokens 0", "--temperature -1", "--top-p 0", "--top-k -1", "--prompt ''", "--format int8",
        "--temperature nan", "--top-p nan", "--seed -1", "--seed 99999999999999999999"})
    EXPECT_EQ(run_command(std::string("generate --model x ") + option).code, 2) << option;
}

TEST_F(Generate, ATerminalGetsNoControlCharacters) {
  if (!has_script()) GTEST_SKIP() << "the program `script` is not installed";
  train();
  // So hot that all bytes are as good as equally likely.
  const std::string arguments = "generate --model model --prompt a --tokens 200 --temperature 100";
  const auto control = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r') || c == '\x7F';
  };
  const std::string file = run_command(arguments).output, terminal = on_terminal(100, arguments);
  EXPECT_GT(std::count_if(file.begin(), file.end(), control), 0);
  EXPECT_EQ(std::count_if(terminal.begin(), terminal.end(), control), 0);
  EXPECT_GT(terminal.size(), 200u);
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

// Such as transformers adds to pad a batch: a text needs none of them.
TEST_F(Generate, ATokenizerMayHaveAddedTokensThatTheModelLacks) {
  train();
  const std::string command = "generate --model model --tokens 20 --prompt the";
  const std::string text = run_command(command).output;
  replace("model/tokenizer.json", "\"added_tokens\": []",
          R"("added_tokens": [{"id": 256, "content": "<pad>"}])");
  EXPECT_EQ(run_command(command).output, text);
  const CommandResult padded = run_command("generate --model model --prompt 'the<pad>'");
  EXPECT_EQ(padded.code, 1);
  EXPECT_NE(padded.output.find("the token 256 ('<pad>') of the prompt, and 256 tokens of the model"),
            std::string::npos)
      << padded.output;
}

}  // namespace
}  // namespace halftone
