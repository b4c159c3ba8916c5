// SPDX-License-Identifier: Apache-2.0
//
// Where a run's files go when nobody says: runs/<task>-<model>-<recipe>-<seed>, with -2, -3, ... for more.
#pragma once

#include <filesystem>
#include <string>

#include "halftone/train.h"

namespace halftone::cli {

// The first of runs/STEM, runs/STEM-2, ... that does not exist.
std::filesystem::path fresh_folder(const std::string& stem);

// "fashion-mnist-cnn-float16-1"
std::string run_stem(const train::Config& config);

// Of runs/STEM, runs/STEM-2, ... the one whose state file was written last; empty if there is none.
std::filesystem::path newest_run(const std::string& stem);

// Throws a usage error if the folder already holds a run's files.
void refuse_to_overwrite(const std::filesystem::path& out);

}  // namespace halftone::cli
