// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/command.h"
#include "cli/number_text.h"

namespace halftone::cli {
namespace {

constexpr int kHeight = 6;  // lines
constexpr int kMostColumns = 72;
constexpr int kWithTarget = 80;  // binades: a target of more is cut to what lies near the values
constexpr int kMargin = 3;       // binades of it then
constexpr std::string_view kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

Binades binades_of(const Census& census) {
  int low = Census::kHighest, high = Census::kLowest;
  for (int exponent = Census::kLowest; exponent <= Census::kHighest; ++exponent)
    if (census.at(exponent) != 0) low = std::min(low, exponent), high = exponent + 1;
  return {low, high};
}

// A whole number of columns for a binade, or of binades for a column, so that neighbours compare.
BinaryAxis axis_for(const Binades& values, const Coverage& target, int room) {
  Binades range = values;
  if (target.reach.count() <= kWithTarget && std::abs(target.all.low - values.low) <= kWithTarget &&
      std::abs(target.all.high - values.high) <= kWithTarget) {
    range = {std::min(values.low, target.reach.low), std::max(values.high, target.reach.high)};
  } else {
    range = {values.low - kMargin, values.high + kMargin};
  }
  if (range.count() <= room) return {range, room / range.count() * range.count()};
  const int each = (range.count() + room - 1) / room, columns = (range.count() + each - 1) / each;
  return {{range.low, range.low + each * columns}, columns};
}

std::int64_t count_in(const Census& census, const BinaryAxis& axis, int column) {
  const auto at = [&](int exponent) {
    return exponent < Census::kLowest || exponent > Census::kHighest ? 0 : census.at(exponent);
  };
  if (axis.width() >= axis.range().count())
    return at(axis.range().low + column / (axis.width() / axis.range().count()));
  const int each = axis.range().count() / axis.width();
  std::int64_t sum = 0;
  for (int i = 0; i < each; ++i) sum += at(axis.range().low + column * each + i);
  return sum;
}

std::string_view colour(int exponent, const Coverage& target) {
  if (exponent >= target.reach.high || exponent < target.reach.low) return "31";
  return exponent < target.normal_low && !target.even && target.reach.low == target.all.low ? "2;36" : "36";
}

}  // namespace

void print_histogram(const Census& census, const std::string& name, const Coverage& target) {
  const Binades values = binades_of(census);
  if (values.count() <= 0) return;
  const std::size_t indent = std::max<std::size_t>(name.size(), 8) + 4;
  const int room = std::clamp(terminal_width() - static_cast<int>(indent) - 4, 20, kMostColumns);
  const BinaryAxis axis = axis_for(values, target, room);
  std::vector<std::int64_t> counts;
  for (int column = 0; column < axis.width(); ++column) counts.push_back(count_in(census, axis, column));
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  const int repeat = std::max(1, axis.width() / axis.range().count()),
            each = std::max(1, axis.range().count() / axis.width());
  const std::string unit = each > 1     ? fmt::format("{} binades a column", each)
                           : repeat > 1 ? fmt::format("a binade in {} columns", repeat)
                                        : "a binade a column";
  fmt::print("\n{}\n", pale(fmt::format("{:>{}}magnitudes, {}", "", indent, unit)));
  const std::string top =
      fmt::format("{:.3g} %", 100.0 * static_cast<double>(most) / static_cast<double>(census.count()));
  for (int line = kHeight - 1; line >= 0; --line) {
    std::string text = fmt::format("{} {}", padded_left(line == kHeight - 1 ? top : "", indent - 2), "│");
    for (int column = 0; column < axis.width(); ++column) {
      const std::int64_t count = counts[static_cast<std::size_t>(column)];
      auto level =
          static_cast<int>(std::lround(static_cast<double>(count) / static_cast<double>(most) * 8 * kHeight));
      if (count != 0) level = std::max(level, 1);  // a few are not none
      const std::string cell(kLevels[std::clamp(level - 8 * line, 0, 8)]);
      const int exponent = axis.range().low + (repeat > 1 ? column / repeat : column * each);
      text += output_is_terminal() && cell != " "
                  ? fmt::format("\x1b[{}m{}\x1b[0m", colour(exponent, target), cell)
                  : cell;
    }
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
  const std::vector<std::string> ruler = axis.ruler(indent);
  fmt::print("{}\n{}{}\n{}\n", ruler[0], padded_left(name + "  ", indent), axis.bar(target), ruler[1]);
}

}  // namespace halftone::cli
