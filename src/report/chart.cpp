// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "report/page.h"

namespace halftone::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnits = 1000;  // of the stretched coordinate system
constexpr int kMaxMarks = 400;   // more than this are closer than a pixel

struct Range {
  double low = kInfinity, high = -kInfinity;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool visible(const Point& point, AxisScale scale) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (scale == AxisScale::linear || point.y > 0);
}

std::string colour(int index) { return fmt::format("var(--c{})", index % kColours); }

// Curves that share a colour differ in their dashes.
std::string look(const Curve& curve) {
  constexpr const char* kDashes[] = {"", " dash", " dots"};
  return fmt::format("class=\"curve{}{}\" stroke=\"{}\"", curve.faint ? " faint" : "",
                     kDashes[curve.colour / kColours % std::ssize(kDashes)], colour(curve.colour));
}

struct Drawing {
  std::string paths, dots;
};

void draw(const Curve& curve, const Axis& x, const Axis& y, AxisScale scale, Drawing& out) {
  const std::string name = curve.label.empty() ? "" : escape(curve.label) + ": ";
  const auto dot = [&](const Point& p, const char* radius) {
    out.dots += fmt::format(
        "<circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"><title>{}{:.6g}</title></circle>\n",
        percent_place(x.place(p.x)), percent_place(1 - y.place(p.y)), radius, colour(curve.colour), name,
        p.y);
  };
  const std::vector<Point> points = decimate(curve.points);
  std::string path;
  std::size_t run = 0;  // points since the last gap
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!visible(points[i], scale)) {
      run = 0;
      continue;
    }
    const double px = kUnits * x.place(points[i].x), py = kUnits * (1 - y.place(points[i].y));
    const bool lonely = run == 0 && (i + 1 == points.size() || !visible(points[i + 1], scale));
    if (curve.dots || lonely) dot(points[i], curve.dots ? "5" : "3");
    if (run++ == 0)
      path += fmt::format("M{:.1f} {:.1f}", px, py);
    else
      path += curve.stairs ? fmt::format("H{:.1f}V{:.1f}", px, py) : fmt::format("L{:.1f} {:.1f}", px, py);
  }
  if (!path.empty()) out.paths += fmt::format("<path {} d=\"{}\"/>\n", look(curve), path);
}

std::string legend(const Chart& chart) {
  std::string items;
  for (const Curve& curve : chart.curves)
    if (!curve.label.empty())
      items += fmt::format(
          "<span><svg width=\"22\" height=\"8\" aria-hidden=\"true\"><path {} d=\"M1 "
          "4H21\"/></svg>{}</span>\n",
          look(curve), escape(curve.label));
  if (!chart.marks.empty() && !chart.mark_label.empty())
    items += fmt::format(
        "<span><svg width=\"9\" height=\"9\" aria-hidden=\"true\"><path class=\"cross\" d=\"M1 1L8 8M8 1L1 "
        "8\"/></svg>"
        "{}</span>\n",
        escape(chart.mark_label));
  return items.empty() ? "" : "<div class=\"legend\">\n" + items + "</div>\n";
}

std::string draw_marks(const std::vector<Mark>& marks, const Axis& x) {
  std::string out;
  int last = -1;
  for (const Mark& mark : marks) {
    const int column = static_cast<int>(kMaxMarks * x.place(mark.x));
    if (column == last) continue;
    last = column;
    const std::string at = percent_place(x.place(mark.x));
    out += fmt::format(
        "<g><title>{}</title><line class=\"mark\" x1=\"{}\" x2=\"{}\" y1=\"0\" y2=\"100%\"/><svg x=\"{}\" "
        "y=\"0\" "
        "overflow=\"visible\"><path class=\"cross\" d=\"M-3.5 -3.5L3.5 3.5M3.5 -3.5L-3.5 3.5\"/></svg></g>\n",
        escape(mark.note), at, at, at);
  }
  return out;
}

}  // namespace

std::string to_html(const Chart& chart) {
  Range xs, ys;
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) {
      xs.add(point.x);
      if (visible(point, chart.y_scale)) ys.add(point.y);
    }
  for (const Mark& mark : chart.marks) xs.add(mark.x);
  if (chart.from_zero && xs.high > 20) xs.add(0);
  const Axis x(xs.low, xs.high, AxisScale::linear, TickStyle::whole, false, 6);
  const Axis y(ys.low, ys.high, chart.y_scale, chart.y_style, true);

  Drawing drawing;
  for (const Curve& curve : chart.curves) draw(curve, x, y, chart.y_scale, drawing);
  std::string labels, grid;
  for (const Tick& tick : y.ticks()) {
    labels += fmt::format("<span style=\"bottom:{}\">{}</span>", percent_place(tick.place), tick.html);
    const std::string at = percent_place(1 - tick.place);
    grid += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>\n", at, at);
  }
  return fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n{}<div class=\"plot\">\n<div class=\"ylabel\" "
      "aria-hidden=\"true\">{}</div>\n"
      "<div class=\"yaxis\" aria-hidden=\"true\">{}</div>\n<div class=\"area\"><svg role=\"img\" "
      "aria-label=\"{}\">\n{}"
      "<line class=\"base\" x1=\"0\" x2=\"100%\" y1=\"100%\" y2=\"100%\"/>\n"
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" width=\"100%\" height=\"100%\" "
      "overflow=\"visible\">\n{}</svg>\n"
      "{}{}</svg></div>\n{}</div>\n</figure>\n",
      escape(chart.title), legend(chart), escape(chart.y_label), labels, escape(chart.title), grid, kUnits,
      kUnits, drawing.paths, draw_marks(chart.marks, x), drawing.dots, x_ticks(x, chart.x_label));
}

std::string to_html(const DotPlot& plot) {
  Range xs;
  for (const DotRow& row : plot.rows)
    for (const double value : row.values) xs.add(value);
  const Axis x(xs.low, xs.high, AxisScale::linear, plot.style, true, 4);
  std::string out =
      fmt::format("<figure>\n<figcaption>{}</figcaption>\n<div class=\"rows\">\n", escape(plot.title));
  for (const DotRow& row : plot.rows) {
    std::string marks, spoken;
    Range range;
    double sum = 0;
    int finite = 0;
    for (const Tick& tick : x.ticks())
      marks += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"100%\"/>",
                           percent_place(tick.place));
    std::string dots;
    for (const double value : row.values) {
      if (!std::isfinite(value)) continue;
      range.add(value), sum += value, ++finite;
      dots +=
          fmt::format("<circle class=\"dot\" cx=\"{}\" cy=\"50%\" r=\"5\" fill=\"{}\" fill-opacity=\".8\"/>",
                      percent_place(x.place(value)), colour(row.colour));
    }
    if (finite > 0) {
      const std::string mean = percent_place(x.place(sum / finite));
      marks += fmt::format(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"50%\" y2=\"50%\" stroke=\"{3}\" stroke-width=\"2\" "
          "stroke-opacity=\".45\"/>"
          "<line x1=\"{2}\" x2=\"{2}\" y1=\"18%\" y2=\"82%\" stroke=\"{3}\" stroke-width=\"2\"/>",
          percent_place(x.place(range.low)), percent_place(x.place(range.high)), mean, colour(row.colour));
    }
    out += fmt::format(
        "<div class=\"name\"><b>{0}</b> <span>{1}</span></div>\n<div class=\"track\"><svg role=\"img\" "
        "aria-label=\"{0}: {1}\">{2}{3}</svg></div>\n",
        escape(row.label), escape(row.note), marks, dots);
  }
  return out + x_ticks(x, plot.x_label) + "</div>\n</figure>\n";
}

}  // namespace halftone::report
