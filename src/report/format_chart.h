// SPDX-License-Identifier: Apache-2.0
//
// Two pictures of number formats: how far they reach, as bars over powers of two, and how close their numbers
// lie there, as steps.
#pragma once

#include <string>
#include <vector>

#include "halftone/format.h"
#include "report/curve.h"

namespace halftone::report {

// Both figures, as HTML: the formats used stand out among the common ones. The part of a bar with subnormal
// numbers is lighter; what lies beyond the axis (float64 does) is cut off.
std::string format_charts(const std::vector<DType>& used);

// The formats of recipes (names that are none are passed over), each once.
std::vector<DType> formats_of(const std::vector<std::string>& recipes);

// Spacing over size, at the power of two 2^x, for every x from the smallest number to the largest: the first
// number of the binade, where it is largest.
std::vector<Point> relative_spacing(const Format& format);

}  // namespace halftone::report
