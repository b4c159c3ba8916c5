// SPDX-License-Identifier: Apache-2.0
//
// The ranges of formats as bars over one axis of powers of two, in a terminal.
#pragma once

#include "cli/number_table.h"

namespace halftone::cli {

void print_ranges(const Selection& selection);

}  // namespace halftone::cli
