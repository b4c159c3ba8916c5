// SPDX-License-Identifier: Apache-2.0
//
// The fields of train::Config as options of a command. They come from the rows of train/config.h; this file
// adds only what --help says.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/train.h"

namespace halftone::cli {

class ConfigOptions {
 public:
  // Adds the positional TASK, --config and an option per field but those in `without`.
  void add(CLI::App& command, const std::vector<std::string_view>& without = {});

  // The defaults, then the file, then what was typed. Throws CLI::ValidationError (exit code 2) for a file
  // that cannot be understood.
  train::Config config() const;

  // What was typed, to be typed again: "train fashion-mnist --epochs 5", without --out and --resume.
  std::string command_line() const;

 private:
  bool task_known() const;
  train::Config given_;
  std::string file_;
  CLI::App* command_ = nullptr;
  std::vector<std::pair<CLI::Option*, std::function<void(train::Config&)>>> setters_;
};

// Validates, and says what is wrong as a usage error.
void check_usage(const train::Config& config);

// A word as a shell takes it.
std::string quoted(const std::string& word);

}  // namespace halftone::cli
