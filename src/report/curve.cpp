// SPDX-License-Identifier: Apache-2.0
#include "report/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::report {
namespace {

constexpr std::size_t kPerBucket = 5;  // first, smallest, largest, last, and a gap

void keep_extremes(const Point* begin, const Point* end, std::vector<Point>& kept) {
  const Point *low = nullptr, *high = nullptr, *first = nullptr, *last = nullptr, *gap = nullptr;
  for (const Point* point = begin; point != end; ++point) {
    if (!std::isfinite(point->y)) {
      gap = point;
      continue;
    }
    if (!first) first = point;
    if (!low || point->y < low->y) low = point;
    if (!high || point->y > high->y) high = point;
    last = point;
  }
  std::vector<const Point*> chosen;
  for (const Point* point : {first, low, high, last, gap})
    if (point) chosen.push_back(point);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const Point* point : chosen) kept.push_back(*point);
}

}  // namespace

std::vector<Point> decimate(const std::vector<Point>& points, std::size_t limit) {
  if (points.size() <= limit) return points;
  const std::size_t buckets = std::max<std::size_t>(1, limit / kPerBucket);
  std::vector<Point> kept;
  kept.reserve(buckets * kPerBucket);
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const std::size_t begin = points.size() * bucket / buckets, end = points.size() * (bucket + 1) / buckets;
    keep_extremes(points.data() + begin, points.data() + end, kept);
  }
  return kept;
}

std::vector<Point> smooth(const std::vector<Point>& points, std::size_t window) {
  const std::size_t half = window / 2;
  std::vector<Point> smoothed;
  smoothed.reserve(points.size());
  const auto value = [&](std::size_t i) { return std::isfinite(points[i].y) ? points[i].y : 0; };
  // The window is a queue of two parts: what has left is never subtracted, since below the spacing of a spike
  // that would lose everything. tails[k] is the sum from k to the turn, `sum` that from the turn to the end.
  std::vector<double> tails(points.size());
  double sum = 0;
  std::size_t begin = 0, turn = 0, end = 0, finite = 0;  // of the window
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t reach = std::min(half, i);
    for (; end < std::min(i + reach + 1, points.size()); ++end)
      sum += value(end), finite += std::isfinite(points[end].y);
    for (; begin < i - reach; ++begin) finite -= std::isfinite(points[begin].y);
    if (begin >= turn) {  // nothing is left before the turn: all of the window goes there
      sum = 0;
      for (std::size_t k = end; k-- > begin;) tails[k] = sum += value(k);
      turn = end, sum = 0;
    }
    const bool gap = !std::isfinite(points[i].y);
    smoothed.push_back({points[i].x, gap ? std::numeric_limits<double>::quiet_NaN()
                                         : (tails[begin] + sum) / static_cast<double>(finite)});
  }
  return smoothed;
}

}  // namespace halftone::report
