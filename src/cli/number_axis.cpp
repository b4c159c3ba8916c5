// SPDX-License-Identifier: Apache-2.0
#include "cli/number_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/number_code.h"
#include "cli/number_text.h"

namespace halftone::cli {
namespace {

constexpr int kLabelColumns = 10;  // at least, from one label to the next

enum class Part { none, reach, subnormal, even, normal };

Part part_at(const Coverage& what, double exponent) {
  const auto in = [exponent](Binades b) { return exponent >= b.low && exponent < b.high; };
  if (in(what.all))
    return what.even ? Part::even : exponent < what.normal_low ? Part::subnormal : Part::normal;
  return in(what.reach) ? Part::reach : Part::none;
}

// A column shows two halves of itself where a character for that exists.
std::string_view character(Part left, Part right) {
  const Part most = std::max(left, right), least = std::min(left, right);
  if (most == Part::normal && least == Part::subnormal) return "▓";
  if (most == Part::normal && left != right) return left == Part::normal ? "▌" : "▐";
  constexpr std::string_view kWhole[] = {" ", "·", "░", "▒", "█"};
  return kWhole[static_cast<int>(most)];
}

std::string_view colour(Part part) {
  return part == Part::normal ? "36" : part == Part::even ? "33" : part == Part::subnormal ? "36" : "2";
}

std::string power_of_two(int exponent) { return exponent == 0 ? "1" : fmt::format("2^{}", exponent); }

}  // namespace

Coverage coverage(const Format& format) {
  const Binades all{top_exponent(smallest(format)), top_exponent(largest(format)) + 1};
  return {all, all, top_exponent(smallest_normal(format)), detail::is_integer(format)};
}

Coverage coverage(const BlockFormat& format) {
  Coverage result = coverage(format.element.format());
  const Coverage scale = coverage(format.scale.format());
  result.reach = {result.all.low + scale.all.low, result.all.high + scale.all.high - 1};
  return result;
}

BinaryAxis::BinaryAxis(Binades range, int width) : range_(range), width_(width) {}

double BinaryAxis::place(double exponent) const { return (exponent - range_.low) / range_.count() * width_; }

Binades BinaryAxis::binades_of(int column) const {
  const auto first = [&](int c) {
    return range_.low + static_cast<int>(std::ceil(static_cast<double>(c) * range_.count() / width_ - 1e-9));
  };
  return {first(column), first(column + 1)};
}

std::string BinaryAxis::bar(const Coverage& what) const {
  std::vector<std::string> cells;
  std::vector<Part> parts;
  const double step = static_cast<double>(range_.count()) / width_;
  for (int column = 0; column < width_; ++column) {
    const double begin = range_.low + column * step;
    const Part left = part_at(what, begin + step / 4), right = part_at(what, begin + 3 * step / 4);
    cells.emplace_back(character(left, right));
    parts.push_back(std::max(left, right));
  }
  // What is narrower than half a column is seen all the same.
  const int first = std::clamp(static_cast<int>(place(what.all.low)), 0, width_ - 1);
  if (*std::max_element(parts.begin(), parts.end()) <= Part::reach) {
    cells[static_cast<std::size_t>(first)] = what.even ? "▒" : "▌";
    parts[static_cast<std::size_t>(first)] = what.even ? Part::even : Part::normal;
  }
  if (what.reach.low < range_.low) cells.front() = "◀";
  if (what.reach.high > range_.high) cells.back() = "▶";
  std::string text, run;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    run += cells[i];
    if (i + 1 < cells.size() && parts[i] == parts[i + 1]) continue;
    const bool plain = !output_is_terminal() || run.find_first_not_of(' ') == std::string::npos;
    text += plain ? run : fmt::format("\x1b[{}m{}\x1b[0m", colour(parts[i]), run);
    run.clear();
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

int BinaryAxis::stride() const {
  int stride = 1;
  while (stride * width_ < kLabelColumns * range_.count()) stride *= 2;
  return stride;
}

std::vector<std::string> BinaryAxis::ruler(std::size_t indent) const {
  std::string rule(indent, ' '), labels(indent, ' ');
  std::vector<bool> marked(static_cast<std::size_t>(width_) + 1, false);
  const int step = stride();
  for (int power = static_cast<int>(std::ceil(static_cast<double>(range_.low) / step)) * step;
       power <= range_.high; power += step) {
    const auto column =
        std::min(static_cast<std::size_t>(std::lround(place(power))), static_cast<std::size_t>(width_));
    marked[column] = true;
    const std::string label = power_of_two(power);
    const std::size_t centre = indent + column, half = label.size() / 2;
    const std::size_t begin =
        std::max(centre > half ? centre - half : 0, labels.size() + (labels.size() > indent ? 1 : 0));
    labels += std::string(begin - std::min(begin, labels.size()), ' ') + label;
  }
  for (std::size_t column = 0; column <= static_cast<std::size_t>(width_); ++column)
    rule += marked[column] ? "┴" : "─";
  return {pale(rule), labels};
}

std::string bar_legend(const std::vector<Coverage>& shown, Binades axis) {
  const auto any = [&](auto test) { return std::any_of(shown.begin(), shown.end(), test); };
  std::string text;
  const auto add = [&](bool there, std::string_view what) {
    if (there) text += fmt::format("{}{}", text.empty() ? "" : "   ", what);
  };
  add(any([](const Coverage& c) { return !c.even; }), "█ normal");
  add(any([](const Coverage& c) { return !c.even && c.normal_low > c.all.low; }), "░ subnormal");
  add(any([](const Coverage& c) { return c.even; }), "▒ even spacing");
  add(any([](const Coverage& c) { return c.reach.count() > c.all.count(); }), "· with another scale");
  add(any([&](const Coverage& c) { return c.reach.low < axis.low || c.reach.high > axis.high; }),
      "◀ ▶ goes on");
  return text;
}

}  // namespace halftone::cli
