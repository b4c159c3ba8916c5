// SPDX-License-Identifier: Apache-2.0
//
// A run and where its files go. When nobody says: runs/<task>-<model>-<recipe>-<seed>, with -2, -3, ... for
// more.
#pragma once

#include <filesystem>
#include <string>

#include "halftone/train.h"

namespace halftone::cli {

// "fashion-mnist-cnn-float16-1"
std::string run_stem(const train::Config& config);

// Where a command shall write: `out`, or the first of runs/STEM, runs/STEM-2, ... that does not exist. To
// resume: `out`, or of those the one whose `file` was written last, and says which on standard error. Throws
// a usage error if a folder to begin in holds a run's files already, FileError if there is none to resume.
std::filesystem::path choose_folder(const std::filesystem::path& out, bool resume, const std::string& stem,
                                    const std::string& file);

// Trains, shows the progress on standard error with `name` before every line, and writes record and report.
// If the run throws, folders that were made for it and are empty are gone again.
train::RunRecord train_in_folder(const train::Config& config, const std::string& name = "");

}  // namespace halftone::cli
