// SPDX-License-Identifier: Apache-2.0
#include <system_error>

#include "base/atomic_file.h"
#include "halftone/error.h"
#include "halftone/report.h"

namespace halftone::report {
namespace {

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw FileError(directory.string(), "cannot be made a directory: " + error.message());
}

}  // namespace

void write(const train::RunRecord& record, const std::filesystem::path& directory) {
  make_directory(directory);
  write_file(directory / "record.json", to_json(record));
  write_file(directory / "report.html", to_html(record));
}

void write(const Comparison& comparison, const std::filesystem::path& directory) {
  make_directory(directory);
  write_file(directory / "compare.json", to_json(comparison));
  write_file(directory / "compare.html", to_html(comparison));
}

}  // namespace halftone::report
