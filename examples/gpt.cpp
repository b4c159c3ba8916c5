// SPDX-License-Identifier: Apache-2.0
//
// A small GPT learns the bytes of a text in bfloat16 and continues it: gpt [FILE [STEPS [FOLDER]]]. In FOLDER
// it leaves the weights, which transformers reads, too.
#include <halftone/halftone.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

using namespace halftone;

int main(int count, char** arguments) {
  std::string text;
  if (count > 1) {
    std::ifstream file(arguments[1], std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  } else {
    for (int i = 0; i < 20; ++i)
      text += "“How much wood would a woodchuck chuck if a woodchuck could chuck wood?” ";
  }
  const int steps = count > 2 ? std::stoi(arguments[2]) : 150;
  constexpr int kBatch = 8, kContext = 64;
  if (text.size() < kContext + 2) return std::puts("the text is too short"), 2;

  manual_seed(1);
  models::Gpt2 model({.vocabulary = 256, .context = kContext, .width = 64, .layers = 2, .heads = 4});
  optim::AdamW optimizer(nn::parameters(model), {.lr = 3e-3});
  amp::Step step(optimizer, amp::find_recipe("bfloat16"), {}, {.clip_norm = 1});
  for (int i = 0; i < steps; ++i) {
    Tensor tokens({kBatch, kContext}, int32), targets({kBatch, kContext}, int32);
    for (int row = 0; row < kBatch; ++row) {
      const std::uint32_t word =
          random_bits(2, streams::example, static_cast<std::uint64_t>(i * kBatch + row));
      const std::size_t begin = word % (text.size() - kContext - 1);
      for (std::size_t j = 0; j < kContext; ++j) {
        const std::size_t at = static_cast<std::size_t>(row) * kContext + j;
        tokens.mutable_data<std::int32_t>()[at] = static_cast<unsigned char>(text[begin + j]);
        targets.mutable_data<std::int32_t>()[at] = static_cast<unsigned char>(text[begin + j + 1]);
      }
    }
    step([&](int) { return model.loss(tokens, targets); });
    if (i % 50 == 49) std::printf("step %4d  loss %.3f\n", i + 1, double{step.loss()});
  }

  const std::string start = text.substr(0, 16);
  std::vector<std::int32_t> prompt;
  for (const char byte : start) prompt.push_back(static_cast<unsigned char>(byte));
  std::printf("%s|", start.c_str());
  models::generate(model, prompt, {.max_new_tokens = 80, .temperature = 0.5, .each = [](std::int32_t byte) {
                                     return std::putchar(byte) != EOF;
                                   }});
  std::puts("");
  if (count > 3) models::save_weights(model, arguments[3]);
  return count > 1 || step.loss() < 1 ? 0 : 1;
}
