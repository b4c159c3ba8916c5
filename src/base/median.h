// SPDX-License-Identifier: Apache-2.0
//
// The median, which is what is said of several measurements of one thing.
#pragma once

#include <algorithm>
#include <vector>

namespace halftone {

// Of an even number of values the mean of the two in the middle. There must be one at least.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace halftone
