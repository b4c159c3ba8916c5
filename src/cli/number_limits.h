// SPDX-License-Identifier: Apache-2.0
//
// What follows from the row of a format, in words and digits, for the table and the JSON of `halftone
// formats`.
#pragma once

#include <string>

#include "halftone/block.h"
#include "halftone/conversion.h"

namespace halftone::cli {

std::string specials_text(const Format& format);    // "inf, NaN", "NaN, one zero", "none"
std::string_view specials_name(Specials specials);  // as in the enumeration
std::string kind_text(const Format& format);        // "float", "signed integer", ...

// What a finite value beyond the largest becomes by default: "inf", "NaN" or "largest".
std::string overflow_result(const Format& format);

// A limit to so many digits; a whole number of a wide integer format as 2^63-1.
std::string limit_text(const Exact& x, int digits = 6);
std::string largest_text(const Format& format);

// Element times scale, of the largest and the smallest of a block format. Exact.
Exact largest(const BlockFormat& format);
Exact smallest(const BlockFormat& format);

}  // namespace halftone::cli
