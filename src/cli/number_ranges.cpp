// SPDX-License-Identifier: Apache-2.0
#include "cli/number_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/command.h"
#include "cli/number_axis.h"
#include "cli/number_text.h"

namespace halftone::cli {
namespace {

constexpr int kNarrow = 300;  // binades: float32 has 277
constexpr int kMostColumns = 120;

struct Row {
  std::string name;
  Coverage what;
};

// The axis shows every format, unless a few wide ones would squeeze the others to nothing: those run off it.
Binades axis_range(const std::vector<Row>& rows) {
  const auto is_narrow = [](const Row& row) { return row.what.all.count() <= kNarrow; };
  const bool any_narrow = std::any_of(rows.begin(), rows.end(), is_narrow);
  Binades range{rows[0].what.all.low, rows[0].what.all.high};
  bool first = true;
  for (const Row& row : rows) {
    if (any_narrow && !is_narrow(row)) continue;
    const Binades one = row.what.reach.count() <= kNarrow ? row.what.reach : row.what.all;
    range = first ? one : Binades{std::min(range.low, one.low), std::max(range.high, one.high)};
    first = false;
  }
  return range;
}

}  // namespace

void print_ranges(const Selection& selection) {
  std::vector<Row> rows;
  for (const DType dtype : selection.formats)
    rows.push_back({std::string(dtype.name()), coverage(dtype.format())});
  for (const BlockFormat& format : selection.blocks)
    rows.push_back({std::string(format.name), coverage(format)});
  if (rows.empty()) return;
  std::size_t indent = 0;
  for (const Row& row : rows) indent = std::max(indent, row.name.size() + 2);
  const int room =
      std::min(terminal_width(), kMostColumns) - static_cast<int>(indent) - 4;  // 4: half a last label
  const BinaryAxis axis(axis_range(rows), std::max(room, 20));
  std::vector<Coverage> shown;
  for (const Row& row : rows) {
    fmt::print("{}{}\n", padded(row.name, indent), axis.bar(row.what));
    shown.push_back(row.what);
  }
  for (const std::string& line : axis.ruler(indent)) fmt::print("{}\n", line);
  fmt::print("\n{}\n", pale(bar_legend(shown, axis.range())));
}

}  // namespace halftone::cli
