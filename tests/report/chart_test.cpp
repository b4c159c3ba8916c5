// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>

#include "report/markup.h"

namespace halftone::report {
namespace {

TEST(Chart, ACurveGoesThroughItsPoints) {
  Chart chart{.title = "t", .x_label = "x", .y_label = "y"};
  chart.curves = {{.label = "c", .points = {{0, 0}, {5, 10}, {10, 0}}}};
  // x 0..10 and y 0..10 on 1000 units, y downwards.
  EXPECT_NE(to_html(chart).find("d=\"M0.0 1000.0L500.0 0.0L1000.0 1000.0\""), std::string::npos);
}

TEST(Chart, StairsHoldTheirValue) {
  Chart chart{.title = "t", .x_label = "x", .y_label = "y"};
  chart.curves = {{.label = "c", .points = {{0, 0}, {5, 10}}, .stairs = true}};
  EXPECT_NE(to_html(chart).find("d=\"M0.0 1000.0H1000.0V0.0\""), std::string::npos);
}

TEST(Chart, AValueThatIsNotFiniteLeavesAGap) {
  Chart chart{.title = "t", .x_label = "x", .y_label = "y"};
  chart.curves = {{.label = "c", .points = {{0, 0}, {1, 10}, {2, NAN}, {3, INFINITY}, {4, 10}, {5, 0}}}};
  const std::string html = to_html(chart);
  EXPECT_NE(html.find("d=\"M0.0 1000.0L200.0 0.0M800.0 0.0L1000.0 1000.0\""), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
}

TEST(Chart, ASinglePointIsADot) {
  Chart chart{.title = "t", .x_label = "x", .y_label = "y"};
  chart.curves = {{.label = "c", .points = {{1, 2.5}}}};
  EXPECT_NE(to_html(chart).find("<circle class=\"dot\" cx=\"50.00%\" cy=\"50.00%\""), std::string::npos);
}

TEST(Chart, NothingToDrawIsStillAFigure) {
  EXPECT_EQ(markup_error(to_html(Chart{.title = "t", .x_label = "x", .y_label = "y"})), "");
  EXPECT_EQ(markup_error(to_html(DotPlot{.title = "t", .x_label = "x", .rows = {{"a", "none", {NAN}, 0}}})),
            "");
}

TEST(Chart, MarksHaveTheirNotesAndCrowdedOnesShareALine) {
  Chart chart{.title = "t", .x_label = "x", .y_label = "y"};
  for (int i = 0; i < 100000; ++i)
    chart.marks.push_back({static_cast<double>(i), "step <" + std::to_string(i) + ">"});
  const std::string html = to_html(chart);
  EXPECT_NE(html.find("<title>step &lt;0&gt;</title>"), std::string::npos);
  EXPECT_LE(occurrences(html, "class=\"mark\""), 401u);
  EXPECT_EQ(markup_error(html), "");
}

TEST(Chart, NamesAreEscaped) {
  Chart chart{.title = "<t>", .x_label = "<x>", .y_label = "<y>"};
  chart.curves = {{.label = "<c>", .points = {{0, 1}}}};
  const std::string html = to_html(chart);
  for (const char* name : {"<t>", "<x>", "<y>", "<c>"}) EXPECT_EQ(html.find(name), std::string::npos) << name;
}

TEST(Chart, ManyCurvesAreToldApart) {
  constexpr int kMany = 3 * kColours;
  Chart chart{.title = "t", .x_label = "x", .y_label = "y"};
  for (int i = 0; i < kMany; ++i)
    chart.curves.push_back({.label = "curve " + std::to_string(i), .points = {{0, 0}, {1, 1}}, .colour = i});
  chart.curves[1].dots = true;
  const std::string html = to_html(chart);
  std::set<std::string> looks;  // what a path says of itself before its shape
  for (std::size_t at = html.find("<path class=\"curve"); at != html.npos;
       at = html.find("<path class=\"curve", at + 1))
    looks.insert(html.substr(at, html.find(" d=", at) - at));
  EXPECT_EQ(looks.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(occurrences(html, "<title>curve 1: "), 2u);
}

TEST(DotPlot, ADotPerFiniteValueAndABarAtTheMean) {
  const std::string html =
      to_html(DotPlot{.title = "t", .x_label = "x", .rows = {{"a", "n", {0, 1, NAN, 5, 10}, 1}}});
  EXPECT_EQ(occurrences(html, "<circle"), 4u);
  EXPECT_NE(html.find("x1=\"40.00%\" x2=\"40.00%\" y1=\"18%\""), std::string::npos);  // (0 + 1 + 5 + 10) / 4
}

}  // namespace
}  // namespace halftone::report
