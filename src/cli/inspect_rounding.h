// SPDX-License-Identifier: Apache-2.0
//
// Where a number lies between its neighbours, and where each rounding takes it.
#pragma once

#include "cli/number_code.h"

namespace halftone::cli {

// The codes below and above with the midpoints, where rounding to nearest changes its mind, and the spacing.
// Where there is no finite number above, the midpoint is where overflow begins.
void print_neighbours(const Number& x, const Conversion& conversion, std::size_t most_digits);

// What `given` becomes under each of the seven roundings; of the stochastic one, with which probability.
void print_roundings(const Exact& given, DType dtype, const Conversion& conversion, std::size_t most_digits);

}  // namespace halftone::cli
