// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/models.md: every C++ block of the page is here, where it is compiled and run.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>

#include "data/scratch.h"
#include "halftone/halftone.h"

namespace halftone {
namespace {

std::string read(const std::string& file) {
  std::ifstream in(std::string(HALFTONE_SOURCE_DIR) + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Without what the formatting of a page and of a program may differ in: white space.
std::string dense(const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); }

TEST(ModelsPage, ItsProgram) {
  manual_seed(1);
  Tensor tokens({2, 32}, int32), targets({2, 32}, int32), masked_targets = full({2, 32}, -100, int32);
  for (int i = 0; i < 64; ++i) {
    tokens.mutable_data<std::int32_t>()[i] = 3 * i % 256;
    targets.mutable_data<std::int32_t>()[i] = (3 * i + 3) % 256;
  }
  masked_targets.mutable_data<std::int32_t>()[5] = 9;
  const testing::Scratch scratch;
  const std::filesystem::path folder = scratch / "model";

  models::LlamaOptions options{.vocabulary = 256, .context = 32, .width = 32, .layers = 2, .heads = 4};
  options.kv_heads = 2;
  options.checkpoint = true;
  models::Llama model(options);
  optim::AdamW optimizer(nn::parameters(model), {.lr = 3e-3});
  amp::Step step(optimizer, amp::find_recipe("bfloat16"));
  for (int i = 0; i < 20; ++i) step([&](int) { return model.loss(tokens, targets); });
  EXPECT_LT(step.loss(), 5);

  models::Bert bert({.vocabulary = 256, .context = 32, .width = 32, .layers = 2, .heads = 4});
  const Tensor lengths = from_values({32, 20}, int32);  // the second row has 12 tokens of padding
  const Tensor loss = bert.loss({tokens, lengths}, masked_targets);  // -100 where nothing was masked
  EXPECT_NEAR(loss.item(), std::log(256), 0.5);

  models::save_weights(model, folder, bfloat16);
  if (models::model_type(folder) == "llama") {
    const models::Llama again = models::load_llama(folder);
    EXPECT_EQ(again.options.kv_heads, 2);
  }

  const std::vector<std::int32_t> prompt = {72, 101, 108, 108, 111};
  const std::vector<std::int32_t> text =
      models::generate(model, prompt, {.max_new_tokens = 40, .temperature = 0.8, .top_k = 50, .seed = 7});
  EXPECT_EQ(text.size(), 40u);
}

TEST(ModelsPage, EveryBlockIsCompiledHere) {
  const std::string page = read("docs/models.md");
  // What is checked here is no part of the page.
  const std::string program = dense(
      std::regex_replace(read("tests/faults/models_page_test.cpp"), std::regex("\\n *EXPECT_[^\\n]*"), ""));
  static const std::regex fence("```cpp\n([\\s\\S]*?)```");
  int blocks = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), fence), end; it != end; ++it, ++blocks)
    EXPECT_NE(program.find(dense((*it)[1])), std::string::npos) << "not compiled:\n" << (*it)[1];
  EXPECT_EQ(blocks, 4);
}

}  // namespace
}  // namespace halftone
