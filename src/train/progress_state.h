// SPDX-License-Identifier: Apache-2.0
//
// What a state file of a run holds: everything the rest of the run depends on (law 8), the record so far, and
// the configuration it belongs to.
#pragma once

#include "halftone/amp.h"
#include "halftone/train.h"

namespace halftone::train {

// The parts of a run in progress, by reference: tensors are shared, so unpacking assigns into them.
struct RunParts {
  std::vector<Parameter> parameters, buffers;
  amp::Optimizer& optimizer;
  amp::GradScaler& scaler;
  RunRecord& record;      // its config with lr and threads resolved
  std::string data;       // fingerprint
  double& epoch_seconds;  // of the epoch in progress
  int epochs;             // of the whole run
};

State pack(const RunParts& parts);

// Checks all of `state` before it changes any of the parts, and thread_state()'s random index with them.
// Throws ValueError naming the first configuration field that differs, with both values; FileError naming
// `file` and the place if something is missing, of another shape or format, or not from a run at all.
void unpack(const State& state, const std::filesystem::path& file, const RunParts& parts);

}  // namespace halftone::train
