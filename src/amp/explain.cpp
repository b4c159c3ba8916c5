// SPDX-License-Identifier: Apache-2.0
//
// What autocast did, in words: one row per op call of a CastLog.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "halftone/autocast.h"

namespace halftone::amp {
namespace {

constexpr std::size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

std::string operands(const CastRecord& record) {
  std::string text;
  for (const CastRecord::Operand& operand : record.operands) {
    if (!text.empty()) text += ", ";
    text += operand.from.name();
    if (operand.from != operand.to) text += fmt::format(" -> {}", operand.to.name());
  }
  return text;
}

}  // namespace

std::string reason(const CastRecord& record) {
  const std::string by = record.overridden ? " (overridden)" : "";
  const std::string_view policy = to_string(record.policy);
  if (record.quantized)
    return fmt::format("{}{}: operands rounded to the recipe's short formats", policy, by);
  const bool cast = std::any_of(record.operands.begin(), record.operands.end(),
                                [](const CastRecord::Operand& o) { return o.from != o.to; });
  switch (record.policy) {
    case CastPolicy::compute:
      return fmt::format("{}{}: {}", policy, by,
                         cast ? "operands cast to the compute format" : "nothing to cast");
    case CastPolicy::inside_float32:
      return fmt::format("{}{}: computed in float32, stored in the compute format", policy, by);
    case CastPolicy::float32:
      return fmt::format("{}{}: computed and stored in float32", policy, by);
    case CastPolicy::widest:
      return fmt::format("{}{}: the smallest format that holds all operands", policy, by);
    case CastPolicy::keep:
      return fmt::format("{}{}: the format of the first operand", policy, by);
  }
  return "?";
}

std::string to_table(const std::vector<CastRecord>& records) {
  std::vector<Row> rows{{"op", "layer", "operands", "result", "why"}};
  for (const CastRecord& record : records)
    rows.push_back(
        {record.op, record.layer, operands(record), std::string(record.result.name()), reason(record)});
  std::array<std::size_t, kColumns> width{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < kColumns; ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < kColumns; ++c) line += fmt::format("{:<{}}  ", row[c], width[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace halftone::amp
