// SPDX-License-Identifier: Apache-2.0
//
// A recorded step in the Trace Event Format of Chrome, which Perfetto reads (ui.perfetto.dev).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halftone/profile.h"

namespace halftone::cli {

// A JSON array. Each recording, with its name, is a process of its own that starts at 0; its threads have
// complete events ("ph": "X"), in microseconds.
std::string trace_json(const std::vector<std::pair<std::string, const profile::Recording*>>& recordings);

}  // namespace halftone::cli
