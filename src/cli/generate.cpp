// SPDX-License-Identifier: Apache-2.0
//
// halftone generate: text from a trained decoder, written as it comes.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "halftone/amp.h"
#include "halftone/data.h"
#include "halftone/error.h"
#include "halftone/models.h"
#include "halftone/tokenizer.h"
#include "halftone/weights.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone generate --model runs/text-gpt2-bfloat16-1 --prompt \"In the beginning\"\n"
    "  halftone generate --model runs/text-gpt2-bfloat16-1 --temperature 0 --tokens 300\n"
    "The folder is that of a run of `halftone train text`, or any with Hugging Face's config.json and\n"
    "model.safetensors of a GPT-2 or Llama and its tokenizer.json (without one, tokens are bytes). The text\n"
    "ends after --tokens, or where the model ends it, by the eos_token_id of the folder.";

struct Options {
  std::string model, prompt = "\n", format = "bfloat16";
  int tokens = 200, top_k = 0;
  double temperature = 0.8, top_p = 1;
  std::uint64_t seed = 1;
};

template <class Model>
void write_text(const Model& model, const Options& options) {
  const int vocabulary = model.options.vocabulary;
  const bool has_file = std::filesystem::exists(std::filesystem::path(options.model) / "tokenizer.json");
  if (!has_file && vocabulary != 256)
    throw FileError(options.model, fmt::format("no tokenizer.json, and {} tokens of the model", vocabulary),
                    "the tokenizer.json that belongs to the model (without one, tokens are the 256 bytes)");
  const data::Tokenizer tokenizer =
      has_file ? data::Tokenizer::load(options.model) : data::Tokenizer::bytes();
  if (tokenizer.base_vocabulary() > vocabulary)
    throw ValueError("generate",
                     fmt::format("{} tokens of the tokenizer and {} of the model",
                                 tokenizer.base_vocabulary(), vocabulary),
                     "the tokenizer.json that belongs to the model, in its folder");
  models::GenerateOptions how{.max_new_tokens = options.tokens,
                              .temperature = options.temperature,
                              .top_k = options.top_k,
                              .top_p = options.top_p,
                              .seed = options.seed,
                              .stop_tokens = models::end_tokens(options.model)};
  how.each = [&](std::int32_t token) {
    const std::string text = printable(stdout, tokenizer.shown(token));
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return !stop_requested().load();
  };
  std::vector<std::int32_t> prompt = tokenizer.beginning();
  const std::vector<std::int32_t> given = tokenizer.encode(options.prompt);
  prompt.insert(prompt.end(), given.begin(), given.end());
  // Of added tokens a tokenizer may have more than the model.
  for (const std::int32_t token : prompt)
    if (token >= vocabulary)
      throw ValueError("generate",
                       fmt::format("the token {} ('{}') of the prompt, and {} tokens of the model", token,
                                   tokenizer.shown(token), vocabulary),
                       "a prompt without it");
  fmt::print("{}", options.prompt);
  amp::autocast(amp::Casting(find_dtype(options.format)), [&] { models::generate(model, prompt, how); });
  fmt::print("\n");
}

void generate_command(const Options& options) {
  const std::filesystem::path folder = options.model;
  if (!std::filesystem::exists(folder / "config.json"))
    throw FileError(options.model, "no config.json", "the folder of a trained model",
                    "a run of `halftone train text` that has come to its first evaluation");
  if (const std::string type = models::model_type(folder); type == "gpt2")
    write_text(models::load_gpt2(folder), options);
  else if (type == "llama")
    write_text(models::load_llama(folder), options);
  else
    throw ValueError("generate", "a model of type " + type, "gpt2 or llama");
}

const RegisterCommand registered(15, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Write text with a trained model");
  const auto options = std::make_shared<Options>();
  command->add_option("--model", options->model, "Folder of the model or of its run")->required();
  command->add_option("--prompt", options->prompt, "What the text goes on from; default: a new line")
      ->check([](const std::string& text) { return text.empty() ? "an empty prompt" : ""; });
  command->add_option("--tokens", options->tokens, "How many new tokens")
      ->check(within(1, 1000000))
      ->capture_default_str();
  command->add_option("--temperature", options->temperature, "0: always the likeliest token")
      ->check(within(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--top-k", options->top_k, "Only the k likeliest tokens; 0: all")
      ->check(within(0, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--top-p", options->top_p, "Only the likeliest tokens that together have this probability")
      ->check(within(1e-6, 1.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the random numbers: the same seed, the same text")
      ->check(seed())
      ->capture_default_str();
  command->add_option("--format", options->format, "What to compute in")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}))
      ->capture_default_str();
  command->footer(kExamples);
  command->callback([options] { generate_command(*options); });
});

}  // namespace
}  // namespace halftone::cli
