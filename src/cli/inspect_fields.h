// SPDX-License-Identifier: Apache-2.0
//
// The bits of a number in boxes, with the name and the meaning of each field below.
#pragma once

#include "cli/number_code.h"

namespace halftone::cli {

void print_fields(const Number& x);

// "1.5 × 2^0 = 1536 × 2^-10" of a finite number that is not zero.
std::string as_powers(const Number& x);

}  // namespace halftone::cli
