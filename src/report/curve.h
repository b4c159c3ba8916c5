// SPDX-License-Identifier: Apache-2.0
//
// Preparing long series of numbers for a chart. Values that are not finite are gaps, and stay gaps.
#pragma once

#include <cstddef>
#include <vector>

namespace halftone::report {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

// At most `limit` points with the same look: of every bucket of neighbours the first, the smallest, the
// largest and the last, in their order, so that spikes survive; and a gap where the bucket has one.
std::vector<Point> decimate(const std::vector<Point>& points, std::size_t limit = 1500);

// Average over a window of about `window` points centred on each point: narrower at the start, where a loss
// falls fast, so that it does not lag; cut off at the end. What is not finite enters no average and stays a
// gap; a spike, of any size, changes the averages over windows that have it and no other.
std::vector<Point> smooth(const std::vector<Point>& points, std::size_t window);

}  // namespace halftone::report
