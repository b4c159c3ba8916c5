// SPDX-License-Identifier: Apache-2.0
#include "cli/config_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/join.h"
#include "halftone/error.h"
#include "train/config.h"
#include "train/task.h"

namespace halftone::cli {
namespace {

struct Help {
  std::string_view field, text;
};
constexpr Help kHelp[] = {
    {"task", "What to train on: "},
    {"model", "mlp or cnn; of text: gpt2 or llama"},
    {"recipe", "Which format where; the README has the table"},
    {"optimizer", "Its update rule: "},
    {"epochs", "Passes over the training images"},
    {"batch", "Images, or windows of text, per step"},
    {"accumulate", "In so many pieces, one after the other, whose gradients are added up"},
    {"lr", "Peak learning rate; 0: the optimizer's default for the task"},
    {"weight_decay", "Decay of the weights"},
    {"decay", "Of which parameters (matrices: not of biases and scales of norms): "},
    {"clip_norm", "Clip the gradient's norm to this; 0: do not"},
    {"loss_weight", "Multiply the loss (small values make gradients small)"},
    {"seed", "Of every random number"},
    {"limit", "Use only the first so many training images, or windows of text; 0: all"},
    {"threads", "0: all cores"},
    {"save_every", "Steps between state files"},
    {"scaler", "How the loss scale moves: "},
    {"init_scale", "First loss scale; 0: the scaler's"},
    {"growth_interval", "Clean steps until the loss scale grows; 0: the scaler's"},
    {"data", "Folder of the data files; of text: the text, or tokens in a .bin file of uint16"},
    {"out", "Folder for the results; default: a new one in runs/"},
    {"steps", "Steps of the whole run"},
    {"evaluate_every", "Steps between evaluations on the last tenth of the text"},
    {"tokenizer", "bytes, bpe (trained on the text), or a tokenizer.json"},
    {"vocabulary", "Tokens of bpe"},
    {"context", "Tokens that the model sees at most"},
    {"width", "Of the residual stream"},
    {"layers", "Blocks"},
    {"heads", "Attention heads of a block"},
    {"kv_heads", "Heads of keys and values of a llama; 0: as many"},
    {"dropout", "Of the residual stream and the attention of a gpt2"},
    {"checkpoint", "Keep only the inputs of blocks; compute them again in backward"},
    {"sample_every", "Steps between samples of what the model writes; 0: none"},
    {"prompt", "What samples go on from"},
    {"resume",
     "Continue the run in --out, or the newest in runs/ of this task and model (train: recipe and seed, "
     "too)"},
};

std::string only_for(std::string_view field) {
  for (const train::Field& row : train::config_fields())
    if (row.name == field && !row.task.empty()) return fmt::format(" ({} only)", row.task);
  return "";
}

// A text that ends in a colon goes on with the names that the field is one of.
std::string help_for(std::string_view field) {
  for (const Help& help : kHelp)
    if (help.field == field)
      return std::string(help.text) + (help.text.ends_with(": ") ? join(train::names_for(field, {})) : "") +
             only_for(field);
  return "";
}

// "128 (text: 8)": the default, and that of tasks which have another; empty if there is none.
std::string default_for(const train::Field& field) {
  const train::Config common;
  const std::string text = train::to_string(field, common);
  if (field.name == "task" || text.empty()) return text;
  std::string others;
  for (const std::string_view task : train::task_names())
    if (const std::string other = train::to_string(field, train::default_config(task)); other != text)
      others += fmt::format("{}{}: {}", others.empty() ? "" : ", ", task, other);
  return others.empty() ? text : fmt::format("{} ({})", text, others);
}

std::string option_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

void ConfigOptions::add(CLI::App& command, const std::vector<std::string_view>& without) {
  command_ = &command;
  for (const train::Field& field : train::config_fields()) {
    if (std::find(without.begin(), without.end(), field.name) != without.end()) continue;
    const std::string help = help_for(field.name);
    const std::string name = field.name == "task"   ? "task"
                             : field.name == "data" ? "--data,--file"
                                                    : option_name(field.name);
    std::visit(
        [&](auto member) {
          using T = std::remove_reference_t<decltype(given_.*member)>;
          CLI::Option* option = nullptr;
          if constexpr (std::is_same_v<T, bool>)
            option = command.add_flag(name, given_.*member, help);
          else if constexpr (std::is_same_v<T, std::filesystem::path>)
            option = command
                         .add_option_function<std::string>(
                             name, [this, member](const std::string& path) { given_.*member = path; }, help)
                         ->check([](const std::string& path) { return path.empty() ? "an empty path" : ""; });
          else
            option = command.add_option(name, given_.*member, help);
          if (!std::is_same_v<T, bool>) option->default_str(default_for(field));
          if (name[0] == '-') option->take_last();
          setters_.emplace_back(option,
                                [this, member](train::Config& config) { config.*member = given_.*member; });
        },
        field.member);
  }
  command.add_option("--config", file_, "A TOML file with the names above as keys (weight_decay = 0.1)");
}

bool ConfigOptions::task_known() const {
  const auto names = train::task_names();
  return std::find(names.begin(), names.end(), given_.task) != names.end();
}

train::Config ConfigOptions::config() const {
  train::Config config;
  try {
    if (task_known()) config = train::default_config(given_.task);
    if (!file_.empty()) train::load_config(file_, config);
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
  for (const auto& setter : setters_)
    if (setter.first->count() > 0) setter.second(config);
  return config;
}

std::string ConfigOptions::command_line() const {
  std::string line = command_->get_name();
  for (const CLI::Option* option : command_->get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--out" || name == "--resume") continue;
    if (name[0] == '-') line += " " + name;
    if (option->get_expected_max() == 0) {  // a flag
      if (!option->as<bool>()) line += "=false";
      continue;
    }
    for (const std::string& word : option->reduced_results()) line += " " + quoted(word);
  }
  return line;
}

void check_usage(const train::Config& config) {
  try {
    train::validate(config);
  } catch (const ValueError& error) {
    throw CLI::ValidationError(error.what());
  }
}

std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace halftone::cli
