// SPDX-License-Identifier: Apache-2.0
#include "cli/run_folder.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <system_error>

#include "halftone/error.h"

namespace halftone::cli {
namespace fs = std::filesystem;

fs::path fresh_folder(const std::string& stem) {
  std::error_code error;
  fs::path folder = fs::path("runs") / stem;
  for (int number = 2; fs::exists(fs::symlink_status(folder, error)); ++number)
    folder = fs::path("runs") / fmt::format("{}-{}", stem, number);
  return folder;
}

std::string run_stem(const train::Config& config) {
  return fmt::format("{}-{}-{}-{}", config.task, config.model, config.recipe, config.seed);
}

fs::path newest_run(const std::string& stem) {
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
    const fs::file_time_type time = fs::last_write_time(train::state_file(entry.path()), error);
    if (!error && (newest.empty() || time > newest_time)) newest = entry.path(), newest_time = time;
  }
  return newest;
}

void refuse_to_overwrite(const fs::path& out) {
  std::error_code error;
  for (const fs::path& file : {train::state_file(out), out / "record.json", out / "compare.json"})
    if (fs::exists(file, error))
      throw CLI::ValidationError(ValueError("out", out.string() + " holds a run already", "",
                                            "--resume to continue it, or another --out")
                                     .what());
}

}  // namespace halftone::cli
