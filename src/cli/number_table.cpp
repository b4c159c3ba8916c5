// SPDX-License-Identifier: Apache-2.0
#include "cli/number_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/join.h"
#include "cli/command.h"
#include "cli/number_code.h"
#include "cli/number_limits.h"
#include "cli/number_text.h"

namespace halftone::cli {
namespace {

struct Column {
  std::string head;
  int rank;  // the highest goes first where the terminal is narrow
  bool left;
  std::vector<std::string> cells{};

  std::size_t width() const {
    std::size_t most = columns(head);
    for (const std::string& cell : cells) most = std::max(most, columns(cell));
    return most;
  }
};

std::size_t width_of(const std::vector<Column>& table) {
  std::size_t width = 0;
  for (const Column& column : table) width += column.width() + 2;
  return width - 2;
}

// Takes columns away until the table fits; says which.
std::string narrow(std::vector<Column>& table) {
  if (::isatty(STDOUT_FILENO) != 1) return "";
  std::vector<std::string> gone;
  while (width_of(table) > static_cast<std::size_t>(terminal_width())) {
    const auto least = std::max_element(table.begin(), table.end(),
                                        [](const Column& a, const Column& b) { return a.rank < b.rank; });
    if (least->rank == 0) break;
    gone.push_back(least->head);
    table.erase(least);
  }
  return join(gone);
}

void print(std::vector<Column> table) {
  const std::string gone = narrow(table);
  const auto line = [&](auto text_of) {
    std::string text;
    for (const Column& column : table) {
      const std::string cell = text_of(column);
      const std::size_t width = column.width();
      text += (column.left ? padded(cell, width) : padded_left(cell, width)) + "  ";
    }
    return text.substr(0, text.find_last_not_of(' ') + 1);
  };
  fmt::print("{}\n", bold(line([](const Column& column) { return column.head; })));
  for (std::size_t row = 0; row < table[0].cells.size(); ++row)
    fmt::print("{}\n", line([row](const Column& column) { return column.cells[row]; }));
  if (!gone.empty()) fmt::print("{}\n", pale("In a wider terminal also: " + gone + "."));
}

std::string code_count(const Format& format) {
  return format.bits() <= 16 ? fmt::format("{}", 1 << format.bits()) : fmt::format("2^{}", format.bits());
}

std::vector<Column> number_columns(const std::vector<DType>& formats) {
  std::vector<Column> table = {{"format", 0, true},    {"bits", 0, false},       {"sign", 5, false},
                               {"exponent", 7, false}, {"mantissa", 6, false},   {"bias", 8, false},
                               {"largest", 0, false},  {"min normal", 1, false}, {"min subnormal", 2, false},
                               {"epsilon", 1, false},  {"codes", 9, false},      {"specials", 3, true},
                               {"overflow", 4, true}};
  for (const DType dtype : formats) {
    const Format& f = dtype.format();
    const bool even = detail::is_integer(f);
    const auto unless = [](bool none, const std::string& text) { return none ? std::string("-") : text; };
    const std::string cells[] = {
        std::string(f.name),
        fmt::format("{}", f.bits()),
        f.is_signed ? "±" : "+",
        unless(even, fmt::format("{}", f.exponent_bits)),
        unless(even, fmt::format("{}", f.mantissa_bits)),
        unless(!f.is_floating(), fmt::format("{}", f.bias)),
        largest_text(f),
        unless(!f.is_floating(), limit_text(smallest_normal(f))),
        unless(even || class_of({dtype, 1}) != NumberClass::subnormal, limit_text(smallest(f))),
        fmt::format("{:.6g}", epsilon(f)),
        code_count(f),
        specials_text(f),
        fmt::format("{}: {}", name(f.overflow), overflow_result(f))};
    for (std::size_t i = 0; i < table.size(); ++i) table[i].cells.push_back(cells[i]);
  }
  return table;
}

std::vector<Column> block_columns(const std::vector<BlockFormat>& blocks) {
  std::vector<Column> table = {{"block format", 0, true}, {"bits", 0, false},     {"element", 0, true},
                               {"length", 0, false},      {"scale", 0, true},     {"rule", 1, true},
                               {"largest", 3, false},     {"smallest", 4, false}, {"tensor scale", 2, true}};
  for (const BlockFormat& b : blocks) {
    const std::string cells[] = {std::string(b.name),
                                 fmt::format("{:.6g}", b.bits_per_element()),
                                 std::string(b.element.name()),
                                 fmt::format("{}", b.length),
                                 std::string(b.scale.name()),
                                 std::string(name(b.rule)),
                                 limit_text(largest(b), 7),
                                 limit_text(smallest(b)),
                                 b.has_tensor_scale ? "float32" : "-"};
    for (std::size_t i = 0; i < table.size(); ++i) table[i].cells.push_back(cells[i]);
  }
  return table;
}

}  // namespace

void print_tables(const Selection& selection) {
  if (!selection.formats.empty()) {
    print(number_columns(selection.formats));
    fmt::print("\n{}\n",
               pale(fmt::format("Unless told otherwise a conversion rounds {}, keeps subnormals, makes\n"
                                "NaN zero where there is none, and on overflow follows the policy of the\n"
                                "format. After the colon stands what a large number then becomes.",
                                name(default_conversion(kFormats[0]).rounding))));
  }
  if (selection.blocks.empty()) return;
  if (!selection.formats.empty()) fmt::print("\n");
  print(block_columns(selection.blocks));
  fmt::print("\n{}\n", pale("bits: of an element with its share of the scale. largest, smallest: element\n"
                            "times scale, and to be multiplied by the tensor's scale where there is one."));
}

}  // namespace halftone::cli
