// SPDX-License-Identifier: Apache-2.0
//
// halftone bench step: options and output of bench_steps.h.
#include <fmt/format.h>

#include <memory>

#include "base/atomic_file.h"
#include "cli/bench.h"
#include "cli/bench_step_report.h"
#include "cli/bench_trace.h"
#include "cli/checks.h"
#include "halftone/error.h"
#include "halftone/optim.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone bench step\n"
    "  halftone bench step --recipes bfloat16 --trace step.json       for ui.perfetto.dev\n"
    "  halftone bench step --width 768 --layers 12 --heads 12 --batch 4 --context 512 --vocabulary 50257\n"
    "A step is batch, forward, backward, unscale and update. Recipes take turns; numbers are medians.";

struct Options {
  std::string model = "gpt2";
  std::vector<std::string> recipes = {"float32", "bfloat16", "float16", "float8", "mxfp8"};
  BenchSize size;
  StepPlan plan;
  bool no_memory = false;
  BenchOutput output;
};

StepPlan planned(const Options& options) {
  once_each("--recipes", options.recipes);
  StepPlan plan = options.plan;
  plan.memory = !options.no_memory;
  plan.model = &find_bench_model(options.model);
  try {
    plan.size = sized(*plan.model, options.size);
  } catch (const ValueError& error) {
    throw CLI::ValidationError(error.what());
  }
  for (const std::string& name : options.recipes) {
    const amp::Recipe* recipe = amp::find_recipe_if(name);
    if (recipe == nullptr) throw CLI::ValidationError("--recipes", name + "; `halftone memory` lists them");
    plan.recipes.push_back(recipe);
  }
  return plan;
}

void run(const Options& options) {
  const StepPlan plan = planned(options);
  options.output.prepare();
  const std::vector<StepTimes> all = measure_steps(plan);
  const report::Json json = step_json(plan, all);
  fmt::print("{}", step_text(json));
  write_bench(options.output, json, step_page(json));
  if (options.output.trace.empty()) return;
  std::vector<std::pair<std::string, const profile::Recording*>> recordings;
  for (const StepTimes& times : all) recordings.emplace_back(times.recipe->name, &times.recording);
  write_file(options.output.trace, trace_json(recordings));
  fmt::print(stderr, "trace in {}\n", options.output.trace.string());
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand("step", "Whole training steps: speed, where time and memory go");
  const auto options = std::make_shared<Options>();
  std::vector<std::string> models, optimizers;
  for (const BenchModelRow& row : bench_models()) models.emplace_back(row.name);
  for (const std::string_view name : optim::optimizer_names()) optimizers.emplace_back(name);
  command->add_option("--model", options->model, "What is trained")
      ->check(CLI::IsMember(models))
      ->capture_default_str();
  command->add_option("--recipes", options->recipes, "Recipes, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  const CLI::Validator sizes = within(1, 1 << 20);
  command->add_option("--batch", options->size.batch, "Sequences or images of a step")->check(sizes);
  command->add_option("--context", options->size.context, "Tokens of a sequence")->check(sizes);
  command->add_option("--width", options->size.width, "Of the residual stream")->check(sizes);
  command->add_option("--layers", options->size.layers, "Blocks")->check(sizes);
  command->add_option("--heads", options->size.heads, "Of attention")->check(sizes);
  command->add_option("--vocabulary", options->size.vocabulary, "Different tokens")->check(sizes);
  command->add_flag("--checkpoint", options->size.checkpoint, "Recompute each block in backward");
  command->add_option("--optimizer", options->plan.optimizer, "Its update rule")
      ->check(CLI::IsMember(optimizers))
      ->capture_default_str();
  command->add_option("--repetitions", options->plan.repetitions, "Turns of each recipe")
      ->check(within(1, 10000))
      ->capture_default_str();
  command->add_option("--seconds", options->plan.seconds, "About how long a turn takes")
      ->check(within(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--steps", options->plan.steps, "Steps of a turn, instead")->check(within(1, 1000000));
  command->add_option("--warmup", options->plan.warmup, "Steps of each recipe before the first turn")
      ->check(within(1, 1000000))
      ->capture_default_str();
  command->add_flag("--no-memory", options->no_memory, "Do not measure memory");
  command->add_option("--trace", options->output.trace,
                      "Write one step of each recipe for Perfetto to this file");
  options->output.add(*command);
  command->footer(kExamples);
  command->callback([options] { run(*options); });
}

}  // namespace halftone::cli
