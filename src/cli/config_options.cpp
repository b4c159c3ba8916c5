// SPDX-License-Identifier: Apache-2.0
#include "cli/config_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "halftone/error.h"
#include "halftone/loss_scale.h"
#include "halftone/optim.h"
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
    {"clip_norm", "Clip the gradient's norm to this; 0: do not"},
    {"loss_weight", "Multiply the loss (small values make gradients small)"},
    {"seed", "Of every random number"},
    {"limit", "Use only the first so many training images; 0: all"},
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
    {"resume", "Continue the run in --out, or the newest one with this configuration"},
};

// The rows of the table that a field names one of.
std::vector<std::string_view> table_for(std::string_view field) {
  if (field == "optimizer") return optim::optimizer_names();
  if (field == "task") return train::task_names();
  std::vector<std::string_view> names;
  if (field == "scaler")
    for (const amp::ScalerPolicy& policy : amp::kScalerPolicies) names.push_back(policy.name);
  return names;
}

std::string only_for(std::string_view field) {
  for (const train::Field& row : train::config_fields())
    if (row.name == field && !row.task.empty()) return fmt::format(" ({} only)", row.task);
  return "";
}

std::string help_for(std::string_view field) {
  for (const Help& help : kHelp)
    if (help.field == field) return std::string(help.text) + train::join(table_for(field)) + only_for(field);
  return "";
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
            option = command.add_option_function<std::string>(
                name, [this, member](const std::string& path) { given_.*member = path; }, help);
          else
            option = command.add_option(name, given_.*member, help);
          if (!std::is_same_v<T, bool> && !train::to_string(field, given_).empty())
            option->default_str(train::to_string(field, given_));
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
