// SPDX-License-Identifier: Apache-2.0
//
// What `halftone convert` says: as text with a histogram, or as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/convert_sink.h"
#include "cli/convert_source.h"
#include "cli/convert_tally.h"
#include "cli/number_axis.h"

namespace halftone::cli {

struct ConvertReport {
  std::string target;      // the name of the format
  std::string layout;      // of blocks: how long they are, and their scales
  std::string conversion;  // described
  Coverage coverage{};
  ConvertTally tally;
  float tensor_scale = 0;  // of blocks that have one; else 0
  std::vector<std::string> notes{};
  std::vector<Written> written{};
};

void print_text(const ConvertSource& source, const ConvertReport& report);
void print_json(const ConvertSource& source, const ConvertReport& report);

}  // namespace halftone::cli
