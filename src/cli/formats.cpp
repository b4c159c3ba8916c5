// SPDX-License-Identifier: Apache-2.0
//
// `halftone formats`: number formats and block formats with the limits that follow from each row, as tables,
// JSON or bars. Which ones and in what order is decided here.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/number_code.h"
#include "cli/number_limits.h"
#include "cli/number_options.h"
#include "cli/number_ranges.h"
#include "cli/number_table.h"

namespace halftone::cli {
namespace {

struct Options {
  std::vector<std::string> names;
  int bits = 0, max_bits = 0;
  std::string specials, sort;
  bool json = false, ranges = false;
};

Selection named(const std::vector<std::string>& names) {
  Selection all;
  if (names.empty()) {
    for (const Format& row : kFormats) all.formats.emplace_back(&row);
    all.blocks.assign(std::begin(kBlockFormats), std::end(kBlockFormats));
  }
  for (const std::string& name : names)
    if (names_block_format(name))
      all.blocks.push_back(parse_block_format("FORMAT", name));
    else
      all.formats.push_back(parse_dtype("FORMAT", name));
  return all;
}

bool passes(const Format& format, const Options& options) {
  if (options.bits != 0 && format.bits() != options.bits) return false;
  if (options.max_bits != 0 && format.bits() > options.max_bits) return false;
  return options.specials.empty() || specials_name(format.specials) == options.specials;
}

// What is sorted by: the larger of two comes last, but of largest values and bits it is the same.
template <class Row, class Key>
void sort_rows(std::vector<Row>& rows, Key key) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return key(a, b); });
}

void sort(Selection& all, const std::string& by) {
  const auto below = [](const Exact& a, const Exact& b) { return compare_magnitudes(a, b) < 0; };
  if (by == "name") {
    sort_rows(all.formats, [](DType a, DType b) { return a.name() < b.name(); });
    sort_rows(all.blocks, [](const BlockFormat& a, const BlockFormat& b) { return a.name < b.name; });
  } else if (by == "bits") {
    sort_rows(all.formats, [](DType a, DType b) { return a.format().bits() < b.format().bits(); });
    sort_rows(all.blocks, [](const BlockFormat& a, const BlockFormat& b) {
      return a.bits_per_element() < b.bits_per_element();
    });
  } else if (by == "max") {
    sort_rows(all.formats, [&](DType a, DType b) { return below(largest(a.format()), largest(b.format())); });
    sort_rows(all.blocks,
              [&](const BlockFormat& a, const BlockFormat& b) { return below(largest(a), largest(b)); });
  } else if (by == "min") {
    sort_rows(all.formats,
              [&](DType a, DType b) { return below(smallest(a.format()), smallest(b.format())); });
    sort_rows(all.blocks,
              [&](const BlockFormat& a, const BlockFormat& b) { return below(smallest(a), smallest(b)); });
  } else if (by == "epsilon") {
    sort_rows(all.formats, [](DType a, DType b) { return epsilon(a.format()) < epsilon(b.format()); });
    sort_rows(all.blocks, [](const BlockFormat& a, const BlockFormat& b) {
      return epsilon(a.element.format()) < epsilon(b.element.format());
    });
  }
}

void show(const Options& options) {
  Selection all = named(options.names);
  std::erase_if(all.formats, [&](DType dtype) { return !passes(dtype.format(), options); });
  std::erase_if(all.blocks, [&](const BlockFormat& b) { return !passes(b.element.format(), options); });
  sort(all, options.sort);
  if (options.json) return print_json(all);
  if (all.formats.empty() && all.blocks.empty()) {
    fmt::print("No format passes these filters.\n");
    return;
  }
  options.ranges ? print_ranges(all) : print_tables(all);
}

const RegisterCommand registered(40, [](CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("formats", "List the number formats with their limits");
  command->add_option(
      "FORMAT", options->names,
      "Only these: rows of the table, or names that say what they are (e5m7, e4m3b9fn, ue5m3, "
      "binary8p4se, int4, fixed16m8, mxfp4:rceil, float4_e2m1fn:8:ue5m3:nearest)");
  command->add_option("--bits", options->bits, "Only formats (or elements of blocks) of so many bits")
      ->check(within(1, 64));
  command->add_option("--max-bits", options->max_bits, "Only those of at most so many")->check(within(1, 64));
  command->add_option("--specials", options->specials, "Only those with these special values")
      ->check(CLI::IsMember({"ieee", "nan_only", "nan_zero", "extended", "none", "integer"}));
  command->add_option("--sort", options->sort, "Order, smallest first; else as in the table")
      ->check(CLI::IsMember({"name", "bits", "max", "min", "epsilon"}));
  CLI::Option* json = command->add_flag("--json", options->json, "Print a JSON array instead of a table");
  command->add_flag("--ranges", options->ranges, "Draw the ranges on an axis of powers of two")
      ->excludes(json);
  command->footer(
      "epsilon is the spacing just above 1; min subnormal the smallest positive number. Every limit follows "
      "from\n"
      "the widths, the bias and the special values of the format. A block format is listed where its element "
      "is.\n\n"
      "Examples:\n"
      "  halftone formats\n"
      "  halftone formats --ranges --max-bits 8\n"
      "  halftone formats e5m7 binary8p4se ue5m3     # by names that say what they are\n"
      "  halftone formats --bits 8 --sort max\n"
      "  halftone formats --json | jq '.[] | select(.bits == 8) | .max_finite'");
  command->callback([options] { show(*options); });
});

}  // namespace
}  // namespace halftone::cli
