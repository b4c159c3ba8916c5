// SPDX-License-Identifier: Apache-2.0
//
// halftone compare: the same training in several recipes and seeds. Recipes take turns within a seed, so that
// a machine that slows down in the meantime slows all of them down.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/config_options.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "halftone/error.h"
#include "halftone/report.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone compare fashion-mnist --recipes float32,bfloat16,float16 --seeds 3\n"
    "  halftone compare fashion-mnist --model mlp --recipes float16_master,float16_no_master --lr 1e-4\n"
    "A run that cannot go on (its loss is not finite) is reported as a failure, and the comparison goes on.";

struct Options {
  ConfigOptions config;
  std::vector<std::string> recipes;
  int seeds = 3;
};

void check(const Options& options, train::Config config) {
  for (std::size_t i = 0; i < options.recipes.size(); ++i) {
    config.recipe = options.recipes[i];
    check_usage(config);
    if (std::count(options.recipes.begin(), options.recipes.end(), options.recipes[i]) > 1)
      throw CLI::ValidationError("--recipes", options.recipes[i] + " is there twice");
  }
  if (options.seeds < 1 || options.seeds > 1000)
    throw CLI::ValidationError("--seeds", fmt::format("{}; expected 1 to 1000", options.seeds));
}

// Adds the run to its series; false if it was told to stop.
bool add_run(const train::Config& config, report::Series& series) {
  const std::string name = fmt::format("{} seed {}: ", config.recipe, config.seed);
  ProgressDisplay display(name);
  PartialRecord partial(config);
  try {
    train::RunRecord record = train::run(
        config,
        [&](const train::Progress& progress) {
          partial.see(progress);
          display.show(progress);
        },
        &stop_requested());
    if (!record.finished) return false;
    series.runs.push_back(std::move(record));
  } catch (const NonFiniteError& error) {
    display.clear();
    fmt::print(stderr, "{}failed: {}\n", name, error.what());
    const std::string failure = fmt::format("seed {}: {}", config.seed, error.what());
    series.failure += (series.failure.empty() ? "" : "; ") + failure;
    series.runs.push_back(partial.failed(error.what()));
  }
  return true;
}

void compare_command(const Options& options) {
  train::Config config = options.config.config();
  check(options, config);
  if (config.out.empty())
    config.out = fresh_folder(fmt::format("compare-{}-{}", config.task, config.model));
  else
    refuse_to_overwrite(config.out);
  const std::filesystem::path folder = std::exchange(config.out, {});
  config.resume = false;

  report::Comparison comparison;
  for (const std::string& recipe : options.recipes) comparison.series.push_back({recipe, {}, ""});
  fmt::print(stderr, "{} x {} = {}, results in {}\n",
             report::plural(static_cast<std::int64_t>(options.recipes.size()), "recipe"),
             report::plural(options.seeds, "seed"),
             report::plural(static_cast<std::int64_t>(options.recipes.size()) * options.seeds, "run"),
             folder.string());
  const std::int64_t first_seed = config.seed;
  bool going_on = true;
  for (std::int64_t seed = first_seed; going_on && seed < first_seed + options.seeds; ++seed)
    for (report::Series& series : comparison.series) {
      config.seed = seed;
      config.recipe = series.recipe;
      going_on = add_run(config, series);
      if (!going_on) break;
      report::write(comparison, folder);  // after every run: nothing is lost when the next one is stopped
    }
  fmt::print("{}", report::to_text(comparison));
  if (!going_on) {
    std::fflush(stdout);
    fmt::print(stderr, "halftone: stopped; the table holds the runs that were finished.\n");
    throw CLI::RuntimeError(1);
  }
  fmt::print("\nThe same as pages: {} and {}\n", (folder / "compare.html").string(),
             (folder / "compare.json").string());
}

const RegisterCommand registered(20, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "The same training in several recipes: one table");
  const auto options = std::make_shared<Options>();
  options->config.add(*command, {"recipe", "resume", "save_every"});
  command
      ->add_option("--recipes", options->recipes,
                   "Recipes to compare, separated by commas; the first is the yardstick")
      ->delimiter(',')
      ->required();
  command->add_option("--seeds", options->seeds, "Runs per recipe, with seeds from --seed upwards")
      ->capture_default_str();
  command->footer(kExamples);
  command->callback([options] { compare_command(*options); });
});

}  // namespace
}  // namespace halftone::cli
