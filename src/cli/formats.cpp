// SPDX-License-Identifier: Apache-2.0
//
// `halftone formats`: the table of number formats with the limits that follow from each row.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "halftone/format.h"

namespace halftone::cli {
namespace {

std::string specials(const Format& format) {
  switch (format.specials) {
    case Specials::ieee:
      return "inf, NaN";
    case Specials::nan_only:
      return "NaN";
    case Specials::nan_zero:
      return "NaN, one zero";
    case Specials::none:
      return "none";
    case Specials::integer:
      return "none";
  }
  return "";
}

// Exact, where a double would round the largest 64-bit integer.
std::string largest(const Format& format) {
  return format.is_floating() ? fmt::format("{:.7g}", max_finite(format))
                              : fmt::format("{}", detail::max_code(format));
}

std::string code_count(const Format& format) {
  return format.bits() <= 16 ? fmt::format("{}", 1 << format.bits()) : fmt::format("2^{}", format.bits());
}

std::vector<std::string> cells(const Format& format) {
  const auto if_floating = [&](std::string text) { return format.is_floating() ? text : std::string("-"); };
  return {std::string(format.name),
          fmt::format("{}", format.bits()),
          if_floating(fmt::format("{}", format.exponent_bits)),
          if_floating(fmt::format("{}", format.mantissa_bits)),
          if_floating(fmt::format("{}", format.bias)),
          largest(format),
          if_floating(fmt::format("{:.6g}", min_normal(format))),
          if_floating(fmt::format("{:.6g}", min_subnormal(format))),
          fmt::format("{:.6g}", epsilon(format)),
          code_count(format),
          specials(format)};
}

void print_table() {
  std::vector<std::vector<std::string>> lines = {{"format", "bits", "exponent", "mantissa", "bias", "largest",
                                                  "smallest normal", "subnormal", "epsilon", "codes",
                                                  "specials"}};
  for (const Format& format : kFormats) lines.push_back(cells(format));
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : lines) {
    std::string text = fmt::format("{:<{}}", line[0], widths[0]);
    for (std::size_t i = 1; i + 1 < line.size(); ++i) text += fmt::format("  {:>{}}", line[i], widths[i]);
    fmt::print("{}  {}\n", text, line.back());
  }
}

void print_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const Format& format : kFormats) {
    nlohmann::ordered_json row = {{"name", format.name}, {"bits", format.bits()}, {"bytes", format.bytes()}};
    row["kind"] = format.is_floating() ? "float" : format.is_signed ? "signed integer" : "unsigned integer";
    if (format.is_floating()) {
      row["exponent_bits"] = format.exponent_bits;
      row["mantissa_bits"] = format.mantissa_bits;
      row["bias"] = format.bias;
      row["max_finite"] = max_finite(format);
      row["min_normal"] = min_normal(format);
      row["min_subnormal"] = min_subnormal(format);
    } else {
      row["max_finite"] = detail::max_code(format);
    }
    row["epsilon"] = epsilon(format);
    row["has_infinity"] = has_infinity(format);
    row["has_nan"] = has_nan(format);
    row["specials"] = specials(format);
    if (format.bits() < 64) {
      row["codes"] = std::uint64_t{1} << format.bits();
    } else {
      row["codes"] = 0x1p64;
    }
    rows.push_back(row);
  }
  fmt::print("{}\n", rows.dump(2));
}

const RegisterCommand registered(40, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("formats", "List the number formats with their limits");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print a JSON array instead of a table");
  command->footer(
      "epsilon is the spacing just above 1. Every limit follows from the widths, the bias and the special\n"
      "values of the format.\n\n"
      "Examples:\n"
      "  halftone formats\n"
      "  halftone formats --json | jq '.[] | select(.bits == 8) | .max_finite'");
  command->callback([json] { *json ? print_json() : print_table(); });
});

}  // namespace
}  // namespace halftone::cli
