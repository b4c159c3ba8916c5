// SPDX-License-Identifier: Apache-2.0
#include "report/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/axis.h"
#include "report/page.h"

namespace halftone::report {
namespace {

std::string fill(const StackedBars& bars, std::size_t part) {
  const bool pale = bars.pale_last && part + 1 == bars.parts.size();
  return pale ? "fill=\"var(--rule)\"" : fmt::format("fill=\"var(--c{})\"", part);
}

std::string legend(const StackedBars& bars) {
  std::string items;
  for (std::size_t i = 0; i < bars.parts.size(); ++i)
    items += fmt::format(
        "<span><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" "
        "rx=\"2\" "
        "{}/></svg>{}</span>\n",
        fill(bars, i), escape(bars.parts[i]));
  return "<div class=\"legend\">\n" + items + "</div>\n";
}

double total(const BarRow& row) { return std::accumulate(row.parts.begin(), row.parts.end(), 0.0); }

}  // namespace

std::string to_html(const StackedBars& bars) {
  double high = 0;
  for (const BarRow& row : bars.rows) high = std::max(high, total(row));
  const Axis x(0, high, AxisScale::linear, TickStyle::number, true, 4);
  std::string out = fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}<div class=\"rows\">\n",
                                escape(bars.title), legend(bars));
  for (const BarRow& row : bars.rows) {
    std::string marks;
    for (const Tick& tick : x.ticks())
      marks += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"100%\"/>",
                           percent_place(tick.place));
    double from = 0;
    for (std::size_t i = 0; i < row.parts.size(); ++i) {
      if (row.parts[i] <= 0) continue;
      marks += fmt::format(
          "<rect x=\"{}\" y=\"18%\" width=\"{}\" height=\"64%\" {}><title>{}: {:.4g} {}</title></rect>",
          percent_place(x.place(from)), percent_place(x.place(from + row.parts[i]) - x.place(from)),
          fill(bars, i), escape(bars.parts[i]), row.parts[i], escape(bars.unit));
      from += row.parts[i];
    }
    out += fmt::format(
        "<div class=\"name\"><b>{0}</b> <span>{1}</span></div>\n<div class=\"track\"><svg role=\"img\" "
        "aria-label=\"{0}: {1}\">{2}</svg></div>\n",
        escape(row.label), escape(row.note), marks);
  }
  return out + x_ticks(x, bars.x_label) + "</div>\n</figure>\n";
}

void merge_small(StackedBars& bars, std::size_t count, const std::string& rest, bool keep_last) {
  if (bars.parts.size() <= count) return;
  const std::size_t last = bars.parts.size() - 1;
  std::vector<double> sizes(bars.parts.size());
  for (const BarRow& row : bars.rows)
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max(sizes[i], row.parts[i]);
  std::vector<std::size_t> order(keep_last ? last : last + 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  order.resize(count - 1 - (keep_last ? 1 : 0));
  std::sort(order.begin(), order.end());

  const auto merged = [&](const auto& values, auto sum) {
    auto kept = values;
    kept.clear();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::binary_search(order.begin(), order.end(), i)) kept.push_back(values[i]);
    kept.push_back(sum);
    if (keep_last) kept.push_back(values[last]);
    return kept;
  };
  for (BarRow& row : bars.rows) {
    double sum = 0;
    for (std::size_t i = 0; i < row.parts.size(); ++i)
      if (!std::binary_search(order.begin(), order.end(), i) && !(keep_last && i == last))
        sum += row.parts[i];
    row.parts = merged(row.parts, sum);
  }
  bars.parts = merged(bars.parts, rest);
}

}  // namespace halftone::report
