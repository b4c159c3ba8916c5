// SPDX-License-Identifier: Apache-2.0
//
// halftone memory: bytes per parameter of training in each recipe, measured (memory_kinds.h).
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/memory_kinds.h"
#include "halftone/amp.h"
#include "halftone/optim.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone memory\n"
    "  halftone memory --model cnn --recipe float32,bfloat16_lean --optimizer adafactor\n"
    "  halftone memory --consume-gradients --json";

struct Options {
  std::string model = "mlp";
  std::vector<std::string> recipes;
  std::string optimizer = "adamw";
  bool consume_gradients = false, json = false;
};

struct Column {
  const char *name, *meaning;
};
constexpr Column kColumns[] = {
    {"parameter", "what the model holds, running statistics included"},
    {"copy", "narrow copies for matmuls, and what a recipe remembers of its operands"},
    {"master", "what updates are applied to, or kept beside a narrow parameter"},
    {"gradient", "after the step"},
    {"state", "of the optimizer's rule"},
    {"total", ""}};
constexpr std::size_t kTotal = std::size(kColumns) - 1;

struct Row {
  std::string recipe;
  std::int64_t parameters = 0;
  std::int64_t bytes[std::size(kColumns)] = {};
  std::int64_t in_use = 0;
  double per_parameter(std::size_t column) const {
    return static_cast<double>(bytes[column]) / static_cast<double>(parameters);
  }
};

Row measure(const amp::Recipe& recipe, const Options& options) {
  const BenchModelRow& model = find_bench_model(options.model);
  const MemoryKinds kinds = measure_memory(model, sized(model, {.batch = 2}), recipe, options.optimizer,
                                           options.consume_gradients, 1);
  return {.recipe = std::string(recipe.name),
          .parameters = kinds.count,
          .bytes = {kinds.parameter, kinds.copy, kinds.master, kinds.gradient, kinds.state, kinds.lasting()},
          .in_use = kinds.in_use};
}

std::vector<Row> measure_all(const Options& options) {
  std::vector<const amp::Recipe*> recipes;
  for (const std::string& name : options.recipes) recipes.push_back(&amp::find_recipe(name));
  if (recipes.empty())
    for (const amp::Recipe& recipe : amp::kRecipes)
      if (!options.consume_gradients || recipe.scaling == amp::LossScaling::none) recipes.push_back(&recipe);
  std::vector<Row> rows;
  for (const amp::Recipe* recipe : recipes) rows.push_back(measure(*recipe, options));
  return rows;
}

void print_text(const std::vector<Row>& rows, const Options& options) {
  std::string head = fmt::format("{:<20}", "recipe");
  for (const Column& column : kColumns) head += fmt::format("{:>11}", column.name);
  fmt::print("{}\n", bold(head));
  std::int64_t asked = 0, taken = 0;
  for (const Row& row : rows) {
    fmt::print("{:<20}", row.recipe);
    for (std::size_t i = 0; i < std::size(kColumns); ++i) fmt::print("{:>11.2f}", row.per_parameter(i));
    fmt::print("\n");
    asked += row.bytes[kTotal];
    taken += row.in_use;
  }
  fmt::print(
      "\nBytes per parameter of {} with {}, {} parameters, as the allocator counted them after a step.\n",
      options.model, options.optimizer, rows[0].parameters);
  fmt::print("It rounds sizes up: {:.1f} % more than asked for was taken.\n",
             100 * (static_cast<double>(taken) / static_cast<double>(asked) - 1));
  for (std::size_t i = 0; i < kTotal; ++i)
    fmt::print("{}\n", pale(fmt::format("{:<10} {}", kColumns[i].name, kColumns[i].meaning)));
}

void print_json(const std::vector<Row>& rows, const Options& options) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json entry{{"recipe", row.recipe}};
    for (std::size_t i = 0; i < std::size(kColumns); ++i)
      entry["bytes_per_parameter"][kColumns[i].name] = row.per_parameter(i);
    entry["bytes"] = row.bytes[kTotal];
    entry["bytes_taken"] = row.in_use;
    list.push_back(entry);
  }
  const nlohmann::ordered_json all{{"model", options.model},
                                   {"optimizer", options.optimizer},
                                   {"consume_gradients", options.consume_gradients},
                                   {"parameters", rows[0].parameters},
                                   {"recipes", list}};
  fmt::print("{}\n", all.dump(2));
}

void memory_command(const Options& options) {
  once_each("--recipe", options.recipes);
  for (const std::string& name : options.recipes)
    if (amp::find_recipe_if(name) == nullptr)
      throw CLI::ValidationError("--recipe", name + "; `halftone memory` without it lists them");
  const std::vector<Row> rows = measure_all(options);
  options.json ? print_json(rows, options) : print_text(rows, options);
}

const RegisterCommand registered(30, [](CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("memory", "Bytes per parameter of training, measured in each recipe");
  const auto options = std::make_shared<Options>();
  std::vector<std::string> optimizers, models;
  for (const BenchModelRow& row : bench_models()) models.emplace_back(row.name);
  for (const std::string_view name : optim::optimizer_names()) optimizers.emplace_back(name);
  command->add_option("--model", options->model, "Its model")
      ->check(CLI::IsMember(models))
      ->capture_default_str();
  command->add_option("--recipe", options->recipes, "Recipes, separated by commas; all if not given")
      ->delimiter(',');
  command->add_option("--optimizer", options->optimizer, "Its update rule")
      ->check(CLI::IsMember(optimizers))
      ->capture_default_str();
  command->add_flag("--consume-gradients", options->consume_gradients,
                    "Use each gradient as soon as backward has made it (recipes that scale no loss)");
  command->add_flag("--json", options->json, "As JSON");
  command->footer(kExamples);
  command->callback([options] { memory_command(*options); });
});

}  // namespace
}  // namespace halftone::cli
