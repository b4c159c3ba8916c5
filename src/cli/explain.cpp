// SPDX-License-Identifier: Apache-2.0
//
// halftone explain: one forward pass of a model under a recipe, op by op: what was cast, into what, and why.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command.h"
#include "cli/config_options.h"
#include "halftone/autocast.h"
#include "train/config.h"
#include "train/task.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone explain fashion-mnist --recipe float16\n"
    "  halftone explain fashion-mnist --model mlp --recipe mxfp8 --json\n"
    "  halftone explain --config my.toml                     a recipe of your own";

constexpr std::int64_t kImages = 2;

struct Options {
  ConfigOptions config;
  bool json = false;
};

std::vector<CastRecord> forward_pass(const train::Config& config) {
  const amp::Recipe& recipe = amp::find_recipe(config.recipe);
  const std::unique_ptr<train::Task> task = train::find_task(config.task).make(config, recipe.parameter);
  train::Task::Order order(static_cast<std::size_t>(kImages));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const data::Batch batch = task->train_batch(order, 0, kImages);
  const amp::Casting casting(recipe, task->parameters());
  return amp::explain([&] {
    no_grad([&] {
      amp::autocast(casting, [&] { return task->loss(task->forward(batch.inputs), batch.targets); });
    });
  });
}

nlohmann::ordered_json to_json(const CastRecord& record) {
  nlohmann::ordered_json operands = nlohmann::ordered_json::array();
  for (const CastRecord::Operand& operand : record.operands)
    operands.push_back({{"from", operand.from.name()}, {"to", operand.to.name()}});
  return {{"op", record.op},
          {"layer", record.layer},
          {"policy", to_string(record.policy)},
          {"short_operands", record.quantized},
          {"operands", operands},
          {"result", record.result.name()},
          {"why", amp::reason(record)}};
}

void explain_command(const Options& options) {
  const train::Config config = options.config.config();
  check_usage(config);
  const std::vector<CastRecord> records = forward_pass(config);
  if (!options.json) {
    fmt::print("{}", amp::to_table(records));
    return;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CastRecord& record : records) list.push_back(to_json(record));
  fmt::print("{}\n", nlohmann::ordered_json{{"recipe", config.recipe}, {"calls", list}}.dump(2));
}

// Every field but those that say which model in which recipe, on which data; a short text needs a short
// context.
std::vector<std::string_view> fields_without_effect() {
  std::vector<std::string_view> names;
  for (const train::Field& field : train::config_fields())
    if (field.name != "task" && field.name != "model" && field.name != "recipe" && field.name != "data" &&
        field.name != "context")
      names.push_back(field.name);
  return names;
}

const RegisterCommand registered(55, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "What a recipe casts where, and why, op by op");
  const auto options = std::make_shared<Options>();
  options->config.add(*command, fields_without_effect());
  command->add_flag("--json", options->json, "As JSON");
  command->footer(kExamples);
  command->callback([options] { explain_command(*options); });
});

}  // namespace
}  // namespace halftone::cli
