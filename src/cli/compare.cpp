// SPDX-License-Identifier: Apache-2.0
//
// halftone compare: the same training in several recipes and seeds. Recipes take turns within a seed, so that
// a machine that slows down in the meantime slows all of them down. Every run has a folder of its own,
// RECIPE-SEED, as train would write it: from their state files a comparison can be resumed.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/config_options.h"
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
    "  halftone compare text --recipes float32,bfloat16 --out runs/c --resume\n"
    "Ctrl-C ends it; with --resume it goes on to the same bits, and more recipes and seeds may be asked "
    "for.\n"
    "A run that cannot go on (its loss is not finite) is reported as a failure; the comparison goes on and "
    "ends\n"
    "with exit code 1.";

struct Options {
  ConfigOptions config;
  std::vector<std::string> recipes;
  int seeds = 3;
};

void check(const Options& options, train::Config config) {
  once_each("--recipes", options.recipes);
  for (const std::string& recipe : options.recipes) {
    config.recipe = recipe;
    check_usage(config);
  }
  if (options.seeds < 1 || options.seeds > 1000)
    throw CLI::ValidationError("--seeds", fmt::format("{}; expected 1 to 1000", options.seeds));
}

// Adds the run to its series; false if it was told to stop.
bool add_run(const train::Config& config, report::Series& series) {
  const std::string name = fmt::format("{} seed {}: ", config.recipe, config.seed);
  train::RunRecord record = train_in_folder(config, name);
  if (!record.failure.empty()) {
    fmt::print(stderr, "{}failed: {}\n", name, record.failure);
    series.failure +=
        fmt::format("{}seed {}: {}", series.failure.empty() ? "" : "; ", config.seed, record.failure);
  } else if (!record.finished) {
    return false;
  } else if (record.finished_before) {
    fmt::print(stderr, "{}finished before\n", name);
  }
  series.runs.push_back(std::move(record));
  return true;
}

void compare_command(const Options& options) {
  train::Config config = options.config.config();
  check(options, config);
  const auto run_name = [](const std::string& recipe, std::int64_t seed) {
    return fmt::format("{}-{}", recipe, seed);
  };
  const std::filesystem::path first = run_name(options.recipes[0], config.seed);
  const std::filesystem::path folder =
      choose_folder(config.out, config.resume, fmt::format("compare-{}-{}", config.task, config.model),
                    train::state_file(first).string());
  if (config.resume && !std::filesystem::is_directory(folder))
    throw FileError(folder.string(), "no comparison to resume", "the folder of one", "another --out");

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
      config.out = folder / run_name(series.recipe, seed);
      config.resume = std::filesystem::exists(train::state_file(config.out));
      going_on = add_run(config, series);
      if (!going_on) break;
      report::write(comparison, folder);  // after every run: nothing is lost when the next one is stopped
    }
  fmt::print("{}", report::to_text(comparison));
  if (!going_on) {
    std::fflush(stdout);
    fmt::print(stderr,
               "halftone: stopped; the table holds the runs that were finished. To continue:\n"
               "  halftone {} --out {} --resume\n",
               options.config.command_line(), quoted(folder.string()));
    throw CLI::RuntimeError(1);
  }
  fmt::print("\nThe same as pages: {} and {}\n", (folder / "compare.html").string(),
             (folder / "compare.json").string());
  for (const report::Series& series : comparison.series)
    if (!series.failure.empty()) throw CLI::RuntimeError(1);
}

const RegisterCommand registered(20, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "The same training in several recipes: one table");
  const auto options = std::make_shared<Options>();
  options->config.add(*command, {"recipe"});
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
