// SPDX-License-Identifier: Apache-2.0
#include "report/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace halftone::report {
namespace {

std::vector<Point> line(std::size_t count) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({static_cast<double>(i), 1});
  return points;
}

TEST(Decimate, ShortSeriesAreLeftAlone) { EXPECT_EQ(decimate(line(1500)), line(1500)); }

TEST(Decimate, OneSpikeInAMillionStepsSurvivesAndSoDoesAGap) {
  std::vector<Point> points = line(1000000);
  points[123457].y = 50;
  points[700001].y = -3;
  points[900000].y = NAN;
  const std::vector<Point> kept = decimate(points);
  EXPECT_LE(kept.size(), 1500u);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), Point{123457, 50}), 1);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), Point{700001, -3}), 1);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const Point& p) { return std::isnan(p.y); }), 1);
  EXPECT_TRUE(
      std::is_sorted(kept.begin(), kept.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, 999999);
}

TEST(Smooth, AConstantStaysAndTheFirstPointIsItself) {
  for (const Point& point : smooth(line(100), 9)) EXPECT_DOUBLE_EQ(point.y, 1);
  const std::vector<Point> rising = smooth({{0, 3}, {1, 5}, {2, 10}, {3, 12}}, 3);
  EXPECT_DOUBLE_EQ(rising[0].y, 3);
  EXPECT_DOUBLE_EQ(rising[1].y, 6);   // (3 + 5 + 10) / 3
  EXPECT_DOUBLE_EQ(rising[2].y, 9);   // (5 + 10 + 12) / 3
  EXPECT_DOUBLE_EQ(rising[3].y, 11);  // (10 + 12) / 2: cut off at the end
}

TEST(Smooth, AGapStaysAGapAndDoesNotSpread) {
  const std::vector<Point> smoothed = smooth({{0, 1}, {1, 2}, {2, INFINITY}, {3, 4}, {4, 6}}, 3);
  EXPECT_TRUE(std::isnan(smoothed[2].y));
  EXPECT_DOUBLE_EQ(smoothed[1].y, 1.5);
  EXPECT_DOUBLE_EQ(smoothed[3].y, 5);
}

TEST(Smooth, NothingGivesNothing) { EXPECT_TRUE(smooth({}, 5).empty()); }

}  // namespace
}  // namespace halftone::report
