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

TEST(Smooth, ASpikeChangesNoWindowThatItIsNotIn) {
  for (const std::size_t half : {2u, 3u, 50u})
    for (const std::size_t spike : {0u, 1u, 40u, 100u, 199u}) {
      std::vector<Point> points = line(200);
      for (Point& point : points) point.y = 2.5;
      points[spike].y = 3e20;
      const std::vector<Point> smoothed = smooth(points, 2 * half + 1);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t reach = std::min(half, i);
        const bool inside = spike + reach >= i && spike <= i + reach;
        if (inside)
          EXPECT_GT(smoothed[i].y, 1e18) << half << ' ' << spike << ' ' << i;
        else
          EXPECT_EQ(smoothed[i].y, 2.5) << half << ' ' << spike << ' ' << i;
      }
    }
}

TEST(Smooth, EveryPointIsTheAverageOfItsWindow) {
  std::vector<Point> points = line(500);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].y = i % 17 == 3 ? NAN : static_cast<double>(i * 7919 % 101);
  for (const std::size_t half : {0u, 1u, 2u, 10u, 249u, 600u}) {
    const std::vector<Point> smoothed = smooth(points, 2 * half + 1);
    ASSERT_EQ(smoothed.size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (std::isnan(points[i].y)) continue;
      const std::size_t reach = std::min(half, i);
      double sum = 0;
      int count = 0;
      for (std::size_t k = i - reach; k <= std::min(i + reach, points.size() - 1); ++k)
        if (!std::isnan(points[k].y)) sum += points[k].y, ++count;
      EXPECT_DOUBLE_EQ(smoothed[i].y, sum / count) << half << ' ' << i;
    }
  }
}

TEST(Smooth, NothingGivesNothing) { EXPECT_TRUE(smooth({}, 5).empty()); }

}  // namespace
}  // namespace halftone::report
