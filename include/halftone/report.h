// SPDX-License-Identifier: Apache-2.0
//
// Writers of one run record: JSON for programs, HTML for people (one self-contained file that works offline),
// ten lines for the console; and the same for a comparison of several runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halftone/train.h"

namespace halftone::report {

std::string to_json(const train::RunRecord& record);  // indented, ends with a newline
std::string to_html(const train::RunRecord& record);
std::string to_text(const train::RunRecord& record, const std::filesystem::path& html);  // ten lines

// Writes record.json and report.html into the directory, atomically.
void write(const train::RunRecord& record, const std::filesystem::path& directory);

// One recipe of a comparison: its runs, one per seed.
struct Series {
  std::string recipe;
  std::vector<train::RunRecord> runs;
  std::string failure;  // what ended it, if a run threw
};
struct Comparison {
  std::vector<Series> series;
};
std::string to_json(const Comparison& comparison);
std::string to_html(const Comparison& comparison);
std::string to_text(const Comparison& comparison);  // the table
void write(const Comparison& comparison,
           const std::filesystem::path& directory);  // compare.json, compare.html

}  // namespace halftone::report
