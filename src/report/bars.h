// SPDX-License-Identifier: Apache-2.0
//
// Stacked bars as HTML with inline SVG and no script: what the parts of a whole are, for several wholes.
#pragma once

#include <string>
#include <vector>

namespace halftone::report {

struct BarRow {
  std::string label, note;    // note: the whole in words, right of the label
  std::vector<double> parts;  // as many as there are names of parts, none negative
};
struct StackedBars {
  std::string title, x_label;
  std::string unit;                // of a part, in its tooltip
  std::vector<std::string> parts;  // of all rows: at most kColours, the last may be pale
  bool pale_last = false;          // the last part is what is missing rather than there
  std::vector<BarRow> rows;
};
std::string to_html(const StackedBars& bars);

// Keeps the parts that are largest over all rows, in their order, and adds up the others as `rest`, so that
// there are at most `count`. The last part stays if `keep_last`.
void merge_small(StackedBars& bars, std::size_t count, const std::string& rest, bool keep_last);

}  // namespace halftone::report
