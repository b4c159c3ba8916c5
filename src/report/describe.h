// SPDX-License-Identifier: Apache-2.0
//
// The parts of a run record as names and values, for whoever lays them out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halftone/train.h"

namespace halftone::report {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs machine_pairs(const train::RunRecord& record);
// What is needed to repeat a run: every field that means something for its task.
Pairs configuration_pairs(const train::Config& config);
Pairs recipe_pairs(const std::string& recipe);
std::string master_words(amp::MasterWeights master);  // what updates are applied to
Pairs memory_pairs(const train::RunRecord& record);

}  // namespace halftone::report
