// SPDX-License-Identifier: Apache-2.0
//
// Line charts as HTML with inline SVG and no script. Curves live in a stretched SVG and labels are HTML text
// placed in percent, so that a chart fills any width while letters keep their size on a phone.
#pragma once

#include <string>
#include <vector>

#include "report/axis.h"
#include "report/curve.h"

namespace halftone::report {

struct Curve {
  std::string label;          // empty: not in the legend
  std::vector<Point> points;  // a value that is not finite (or not positive on a log axis) leaves a gap
  int colour = 0;             // of the page's palette; beyond its end, the same colours with other dashes
  bool faint = false;         // thin and pale: raw data behind a smoothed curve
  bool stairs = false;        // holds its value until the next point
  bool dots = false;          // a dot at every point
};

// An event at x: a vertical line with a cross on top.
struct Mark {
  double x = 0;
  std::string note;  // tooltip
};

struct Chart {
  std::string title;  // one sentence; also the accessible name
  std::string x_label, y_label;
  AxisScale y_scale = AxisScale::linear;
  TickStyle y_style = TickStyle::number;
  std::vector<Curve> curves{};
  std::vector<Mark> marks{};
  std::string mark_label{};  // in the legend
  bool from_zero = false;    // x starts at 0, if it goes beyond 20
};

std::string to_html(const Chart& chart);

inline constexpr int kColours = 8;  // --c0 .. --c7 of the page's style

// One row of dots over a common axis: the runs of one recipe.
struct DotRow {
  std::string label, note;     // note: the value in words, right of the label
  std::vector<double> values;  // what is not finite is not drawn
  int colour = 0;
};
struct DotPlot {
  std::string title, x_label;
  TickStyle style = TickStyle::number;
  std::vector<DotRow> rows;
};
// A dot per value, a line from the smallest to the largest and a bar at the mean.
std::string to_html(const DotPlot& plot);

}  // namespace halftone::report
