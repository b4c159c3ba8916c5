// SPDX-License-Identifier: Apache-2.0
#include "report/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halftone::report {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks()) out.push_back(tick.html);
  return out;
}

TEST(Axis, TicksAreRoundNumbersThatHoldTheRange) {
  const Axis axis(0.13, 0.87, AxisScale::linear, TickStyle::number, true);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_DOUBLE_EQ(axis.place(1), 1);
  EXPECT_DOUBLE_EQ(axis.place(0.5), 0.5);
}

TEST(Axis, AccuracyIsShownInPercent) {
  const Axis axis(0.9, 0.92, AxisScale::linear, TickStyle::percent, true);
  EXPECT_EQ(labels(axis).front(), "90.0 %");
  EXPECT_EQ(labels(axis).back(), "92.0 %");
}

TEST(Axis, WholeNumbersHaveNoTicksBetween) {
  EXPECT_EQ(labels(Axis(1, 3, AxisScale::linear, TickStyle::whole, false)),
            (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Axis, PowersOfTwoAreNamedByTheirExponent) {
  const Axis axis(16384, 131072, AxisScale::log2, TickStyle::number, true);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"2<sup>14</sup>", "2<sup>15</sup>", "2<sup>16</sup>",
                                                    "2<sup>17</sup>"}));
  EXPECT_DOUBLE_EQ(axis.place(32768), 1.0 / 3);
}

TEST(Axis, ALogarithmicAxisHasNoPlaceForZero) {
  const Axis axis(0.1, 3, AxisScale::log10, TickStyle::number, true);
  EXPECT_TRUE(std::isnan(axis.place(0)));
  EXPECT_TRUE(std::isnan(axis.place(-1)));
  EXPECT_GE(axis.ticks().size(), 3u);
}

TEST(Axis, PlacesAreInPercentAndLabelsStandAtThem) {
  EXPECT_EQ(percent_place(0.25), "25.00%");
  EXPECT_EQ(percent_place(-1e-17), "0.00%");
  EXPECT_EQ(percent_place(1.5), "100.00%");
  const std::string html = x_ticks(Axis(1, 3, AxisScale::linear, TickStyle::whole, false), "a < b");
  EXPECT_NE(html.find("<span style=\"left:50.00%\">2</span>"), std::string::npos) << html;
  EXPECT_NE(html.find("a &lt; b"), std::string::npos) << html;
}

TEST(Axis, EveryRangeGivesAFewTicksInsideTheAxis) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double ranges[][2] = {{0, 1},         {1, 1},        {0, 0},
                              {-5, -5},       {1e-30, 1e30}, {3, 4e9},
                              {0.91, 0.9101}, {1, 1000000},  {infinity, -infinity},
                              {NAN, NAN},     {2e-8, 3e-8},  {-1, 1}};
  for (const AxisScale scale : {AxisScale::linear, AxisScale::log2, AxisScale::log10})
    for (const TickStyle style : {TickStyle::number, TickStyle::whole, TickStyle::percent})
      for (const bool round_out : {false, true})
        for (const auto& range : ranges) {
          const Axis axis(range[0], range[1], scale, style, round_out);
          EXPECT_GE(axis.ticks().size(), 1u) << range[0] << " " << range[1];
          EXPECT_LE(axis.ticks().size(), 24u) << range[0] << " " << range[1];
          for (const Tick& tick : axis.ticks()) {
            EXPECT_GE(tick.place, -1e-6) << range[0] << " " << range[1];
            EXPECT_LE(tick.place, 1 + 1e-6) << range[0] << " " << range[1];
          }
        }
}

}  // namespace
}  // namespace halftone::report
