// SPDX-License-Identifier: Apache-2.0
//
// halftone train: one run, its progress, its report.
#include "halftone/train.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

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
    "  halftone train fashion-mnist                              the convolutional network in float16\n"
    "  halftone train fashion-mnist --recipe bfloat16 --epochs 5\n"
    "  halftone train fashion-mnist --model mlp --limit 5000     seconds instead of minutes\n"
    "  halftone train fashion-mnist --resume                     continue the newest such run, bit for bit\n"
    "  halftone train text                                       a GPT on the King James Bible\n"
    "  halftone train text --file novel.txt --steps 500 --width 128 --context 128\n"
    "  halftone train --config my.toml --seed 2                  options win over the file\n"
    "Ctrl-C saves the run's state before it ends.";

void choose_folder(train::Config& config) {
  if (config.resume && config.out.empty()) {
    config.out = newest_run(run_stem(config));
    if (config.out.empty())
      throw FileError("runs/" + run_stem(config), "no run to resume", "",
                      "--out with the run's folder, or starting one without --resume");
    fmt::print(stderr, "Resuming {}.\n", config.out.string());
  } else if (config.out.empty()) {
    config.out = fresh_folder(run_stem(config));
  } else if (!config.resume) {
    refuse_to_overwrite(config.out);
  }
}

train::RunRecord run_with_progress(const train::Config& config) {
  ProgressDisplay display;
  PartialRecord partial(config);
  try {
    return train::run(
        config,
        [&](const train::Progress& progress) {
          partial.see(progress);
          display.show(progress);
        },
        &stop_requested());
  } catch (const NonFiniteError& error) {
    display.clear();
    if (!partial.empty()) {
      report::write(partial.failed(error.what()), config.out);
      fmt::print(stderr, "What happened until then is in {}.\n", (config.out / "report.html").string());
    }
    throw;
  }
}

void train_command(const ConfigOptions& options) {
  train::Config config = options.config();
  check_usage(config);
  choose_folder(config);
  const bool new_folder = !std::filesystem::exists(config.out);
  const auto record = [&] {
    try {
      return run_with_progress(config);
    } catch (...) {  // leave nothing behind if nothing was written
      std::error_code ignored;
      if (new_folder) std::filesystem::remove(config.out, ignored);  // removes an empty folder only
      throw;
    }
  }();
  report::write(record, config.out);
  fmt::print("{}", report::to_text(record, config.out / "report.html"));
  if (record.finished) return;
  std::fflush(stdout);
  fmt::print(
      stderr,
      "halftone: stopped after {}; the state is saved. To continue:\n  halftone {} --out {} --resume\n",
      report::plural(static_cast<std::int64_t>(record.steps.size()), "step"), options.command_line(),
      quoted(config.out.string()));
  throw CLI::RuntimeError(1);
}

const RegisterCommand registered(10, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a network and write a report");
  const auto options = std::make_shared<ConfigOptions>();
  options->add(*command);
  command->footer(kExamples);
  command->callback([options] { train_command(*options); });
});

}  // namespace
}  // namespace halftone::cli
