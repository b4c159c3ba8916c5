// SPDX-License-Identifier: Apache-2.0
//
// How the magnitudes of an array are spread over the powers of two, as a drawing in the terminal with the
// range of the target below it.
#pragma once

#include <string>

#include "cli/number_axis.h"
#include "halftone/census.h"

namespace halftone::cli {

// `name` and `target` are of the format converted to. Draws nothing where there is no number but zero.
void print_histogram(const Census& census, const std::string& name, const Coverage& target);

}  // namespace halftone::cli
