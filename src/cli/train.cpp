// SPDX-License-Identifier: Apache-2.0
//
// halftone train: one run, its progress, its report.
#include "halftone/train.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/config_options.h"
#include "cli/run_folder.h"
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

void train_command(const ConfigOptions& options) {
  train::Config config = options.config();
  check_usage(config);
  config.out = choose_folder(config.out, config.resume, run_stem(config), train::state_file("").string());
  const train::RunRecord record = train_in_folder(config);
  const std::filesystem::path page = config.out / "report.html";
  if (!record.failure.empty()) {
    fmt::print(stderr, "halftone: {}\nWhat happened until then is in {}.\n", record.failure, page.string());
    throw CLI::RuntimeError(1);
  }
  fmt::print("{}", report::to_text(record, page));
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
