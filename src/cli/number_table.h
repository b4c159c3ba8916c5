// SPDX-License-Identifier: Apache-2.0
//
// Formats as tables of text and as JSON.
#pragma once

#include <vector>

#include "halftone/block.h"

namespace halftone::cli {

// The formats that a command shows.
struct Selection {
  std::vector<DType> formats;
  std::vector<BlockFormat> blocks;
};

// On a terminal the columns of least importance are left out until the others fit, and named below.
void print_tables(const Selection& selection);
void print_json(const Selection& selection);

}  // namespace halftone::cli
