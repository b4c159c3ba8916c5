// SPDX-License-Identifier: Apache-2.0
#include "cli/run_folder.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <system_error>
#include <vector>

#include "cli/progress.h"
#include "halftone/error.h"
#include "halftone/report.h"

namespace halftone::cli {
namespace fs = std::filesystem;
namespace {

// The first of runs/STEM, runs/STEM-2, ... that does not exist.
fs::path fresh_folder(const std::string& stem) {
  std::error_code error;
  fs::path folder = fs::path("runs") / stem;
  for (int number = 2; fs::exists(fs::symlink_status(folder, error)); ++number)
    folder = fs::path("runs") / fmt::format("{}-{}", stem, number);
  return folder;
}

// Of those the one whose `file` was written last; empty if there is none.
fs::path newest_run(const std::string& stem, const std::string& file) {
  fs::path newest;
  fs::file_time_type newest_time{};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("runs", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(stem, 0) != 0) continue;
    const std::string rest = name.substr(stem.size());
    const bool numbered =
        rest.size() > 1 && rest[0] == '-' && rest.find_first_not_of("0123456789", 1) == rest.npos;
    if (!rest.empty() && !numbered) continue;
    const fs::file_time_type time = fs::last_write_time(entry.path() / file, error);
    if (!error && (newest.empty() || time > newest_time)) newest = entry.path(), newest_time = time;
  }
  return newest;
}

}  // namespace

std::string run_stem(const train::Config& config) {
  return fmt::format("{}-{}-{}-{}", config.task, config.model, config.recipe, config.seed);
}

fs::path choose_folder(const fs::path& out, bool resume, const std::string& stem, const std::string& file) {
  if (!resume) {
    if (out.empty()) return fresh_folder(stem);
    try {
      train::refuse_to_overwrite(out);
    } catch (const ValueError& error) {
      throw CLI::ValidationError(error.what());
    }
    return out;
  }
  if (!out.empty()) return out;
  const fs::path newest = newest_run(stem, file);
  if (newest.empty())
    throw FileError("runs/" + stem, "no run to resume", "",
                    "--out with the run's folder, or starting one without --resume");
  fmt::print(stderr, "Resuming {}.\n", newest.string());
  return newest;
}

train::RunRecord train_in_folder(const train::Config& config, const std::string& name) {
  std::vector<fs::path> made;  // innermost first
  for (fs::path folder = config.out; !folder.empty() && !fs::exists(folder); folder = folder.parent_path())
    made.push_back(folder);
  try {
    ProgressDisplay display(name);
    train::RunRecord record = train::run(
        config, [&](const train::Progress& progress) { display.show(progress); }, &stop_requested());
    report::write(record, config.out);
    return record;
  } catch (...) {
    std::error_code ignored;
    for (const fs::path& folder : made) fs::remove(folder, ignored);  // an empty folder only
    throw;
  }
}

}  // namespace halftone::cli
