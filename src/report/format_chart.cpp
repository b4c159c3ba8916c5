// SPDX-License-Identifier: Apache-2.0
#include "report/format_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/amp.h"
#include "halftone/block.h"
#include "report/axis.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/words.h"

namespace halftone::report {
namespace {

// The axis holds float32, whose smallest number is 2^-149; one label every 64 binades.
constexpr int kLowest = -152, kHighest = 136, kLabelEvery = 64;
constexpr int kFinest = -24;  // its spacing is 2^-23 of the size

constexpr DType kCommon[] = {float32, bfloat16, float16, float8_e5m2, float8_e4m3fn, float4_e2m1fn};

struct Row {
  DType dtype;
  bool is_used;
  int colour;
};

std::string number(double value) {
  return value >= 1000 && value < 1e6 ? count(std::llround(value)) : fmt::format("{:.3g}", value);
}

// The common formats, and before them those of the run that are not common.
std::vector<Row> rows_for(const std::vector<DType>& used) {
  std::vector<Row> rows;
  const auto has = [](const auto& list, DType dtype) {
    return std::find(std::begin(list), std::end(list), dtype) != std::end(list);
  };
  for (const DType dtype : used)
    if (!has(kCommon, dtype)) rows.push_back({dtype, true, 0});
  for (const DType dtype : kCommon) rows.push_back({dtype, has(used, dtype), 0});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].colour = static_cast<int>(i);
  return rows;
}

std::string bar(const Axis& x, double from, double to, const Row& row, bool is_light) {
  const double begin = std::clamp(x.place(from), 0.0, 1.0), end = std::clamp(x.place(to), 0.0, 1.0);
  if (!(end > begin)) return "";
  const double opacity = (is_light ? 0.4 : 1) * (row.is_used ? 1 : 0.55);
  return fmt::format(
      "<rect x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\" fill=\"var(--c{})\" fill-opacity=\"{:.2f}\"/>",
      percent_place(begin), percent_place(end - begin), row.is_used ? "18%" : "28%",
      row.is_used ? "64%" : "44%", row.colour % kColours, opacity);
}

Axis magnitudes() {
  return Axis(std::exp2(kLowest), std::exp2(kHighest), AxisScale::log2, TickStyle::number, false);
}

// Labels of the axis, and the lines above them.
struct Ticks {
  std::string labels, lines;
};

Ticks magnitude_ticks(const Axis& x) {
  Ticks ticks;
  for (int power = kLowest / kLabelEvery * kLabelEvery; power <= kHighest; power += kLabelEvery) {
    const std::string at = percent_place(x.place(std::exp2(power)));
    ticks.lines += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"100%\"/>", at);
    ticks.labels += power == 0 ? fmt::format("<span style=\"left:{}\">1</span>", at)
                               : fmt::format("<span style=\"left:{}\">2<sup>{}</sup></span>", at, power);
  }
  return ticks;
}

std::string name_of(const Row& row) {
  const std::string name = escape(row.dtype.name());
  return row.is_used ? "<b>" + name + "</b>" : name;
}

std::string range_figure(const std::vector<Row>& rows) {
  const Axis x = magnitudes();
  const Ticks ticks = magnitude_ticks(x);
  std::string body;
  for (const Row& row : rows) {
    const Format& format = row.dtype.format();
    const double least = min_subnormal(format), normal = min_normal(format), most = max_finite(format);
    const std::string note = fmt::format("{} to {}", number(least), number(most));
    body += fmt::format(
        "<div class=\"name\">{} <span>{}</span></div>\n<div class=\"track\" style=\"height:1.5rem\"><svg "
        "role=\"img\" aria-label=\"{}: {}, normal from {}\">{}{}{}</svg></div>\n",
        name_of(row), note, escape(row.dtype.name()), note, number(normal), ticks.lines,
        bar(x, least, normal, row, true), bar(x, normal, most, row, false));
  }
  return fmt::format(
      "<figure>\n<figcaption>How far the formats reach</figcaption>\n<div class=\"rows\">\n{}<div "
      "class=\"xaxis\" "
      "aria-hidden=\"true\">{}</div>\n<div class=\"xlabel\" aria-hidden=\"true\">magnitude · lighter: "
      "subnormal "
      "numbers, with fewer digits · bold: used here</div>\n</div>\n</figure>\n",
      body, ticks.labels);
}

// Steps on 1000 by 1000 units, y downwards.
std::string steps(const Row& row, const Axis& x, const Axis& y) {
  std::string path;
  double px = 0, height = 0;
  for (const Point& point : relative_spacing(row.dtype.format())) {
    if (point.x < kLowest || point.x > kHighest) continue;
    px = 1000 * x.place(std::exp2(point.x));
    const double py = 1000 * (1 - std::max(y.place(point.y), 0.0));
    if (path.empty())
      path = fmt::format("M{:.1f} {:.1f}", px, py);
    else if (point.y != height)
      path += fmt::format("H{:.1f}V{:.1f}", px, py);
    height = point.y;
  }
  if (!path.empty()) path += fmt::format("H{:.1f}", px);
  return path.empty()
             ? ""
             : fmt::format("<path class=\"curve\" stroke=\"var(--c{})\" stroke-opacity=\"{}\" d=\"{}\"/>\n",
                           row.colour % kColours, row.is_used ? "1" : "0.5", path);
}

std::string spacing_figure(const std::vector<Row>& rows) {
  constexpr const char* kTitle = "How close their numbers lie: spacing relative to size";
  const Axis x = magnitudes(), y(std::exp2(kFinest), 1, AxisScale::log2, TickStyle::number, false);
  const Ticks ticks = magnitude_ticks(x);
  std::string legend, labels, lines, paths;
  for (const Row& row : rows) {
    legend += fmt::format(
        "<span><svg width=\"22\" height=\"8\" aria-hidden=\"true\"><path class=\"curve\" "
        "stroke=\"var(--c{})\" "
        "stroke-opacity=\"{}\" d=\"M1 4H21\"/></svg>{}</span>\n",
        row.colour % kColours, row.is_used ? "1" : "0.5", name_of(row));
    paths += steps(row, x, y);
  }
  for (const Tick& tick : y.ticks()) {
    const bool is_one = tick.place > 1 - 1e-9;
    labels += fmt::format("<span style=\"bottom:{}\">{}</span>", percent_place(tick.place),
                          is_one ? "1" : tick.html);
    lines += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>",
                         percent_place(1 - tick.place));
  }
  return fmt::format(
      "<figure>\n<figcaption>{0}</figcaption>\n<div class=\"legend\">\n{1}</div>\n<div class=\"plot\">\n<div "
      "class=\"ylabel\" aria-hidden=\"true\">spacing / size; the slopes are subnormal numbers</div>\n<div "
      "class=\"yaxis\" aria-hidden=\"true\">{2}</div>\n<div class=\"area\"><svg role=\"img\" "
      "aria-label=\"{0}\">\n"
      "{3}{4}<line class=\"base\" x1=\"0\" x2=\"100%\" y1=\"100%\" y2=\"100%\"/>\n<svg viewBox=\"0 0 1000 "
      "1000\" "
      "preserveAspectRatio=\"none\" width=\"100%\" height=\"100%\" "
      "overflow=\"visible\">\n{5}</svg></svg></div>\n<div "
      "class=\"xaxis\" aria-hidden=\"true\">{6}</div>\n<div class=\"xlabel\" "
      "aria-hidden=\"true\">magnitude</div>\n"
      "</div>\n</figure>\n",
      kTitle, legend, labels, lines, ticks.lines, paths, ticks.labels);
}

}  // namespace

std::vector<Point> relative_spacing(const Format& format) {
  const Exact most = decode_exact(format, detail::max_code(format));
  const int least = detail::least_exponent(format), end = most.exponent + detail::width(most.n);
  const int digits = detail::is_integer(format) ? 1 : format.mantissa_bits;
  const int first = detail::is_integer(format) || format.has_zero ? least : least + digits;
  std::vector<Point> points;
  for (int exponent = first; exponent < end; ++exponent) {
    const int spacing = detail::is_integer(format) ? least : std::max(least, exponent - digits);
    points.push_back({static_cast<double>(exponent), std::exp2(spacing - exponent)});
  }
  if (!points.empty())
    points.push_back({static_cast<double>(end), points.back().y});  // the last step has a tread
  return points;
}

std::vector<DType> formats_of(const std::vector<std::string>& recipes) {
  std::vector<DType> used;
  const auto add = [&](DType dtype) {
    if (std::find(used.begin(), used.end(), dtype) == used.end()) used.push_back(dtype);
  };
  for (const std::string& name : recipes)
    if (const amp::Recipe* row = amp::find_recipe_if(name)) {
      add(row->compute), add(row->parameter);
      for (const std::string_view operand : {row->operands.forward, row->operands.gradient}) {
        if (operand.empty()) continue;
        const bool block = row->operands.scaling == amp::OperandScaling::block;
        add(block ? find_block_format(operand).element : find_dtype(operand));
      }
    }
  return used;
}

std::string format_charts(const std::vector<DType>& used) {
  const std::vector<Row> rows = rows_for(used);
  return range_figure(rows) + spacing_figure(rows);
}

}  // namespace halftone::report
