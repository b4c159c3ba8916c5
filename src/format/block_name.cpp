// SPDX-License-Identifier: Apache-2.0
//
// Block formats by name: rows of the table, the same with another rule, and ones made up part by part.
#include <fmt/format.h>

#include <charconv>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/join.h"
#include "halftone/block.h"
#include "halftone/error.h"

namespace halftone {
namespace {

constexpr std::string_view kRules[] = {"floor", "ceil", "rceil", "even", "nearest"};

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  throw DTypeError("block format", fmt::format("\"{}\"{}", name, why),
                   fmt::format("one of {}", join(kBlockFormats, &BlockFormat::name)),
                   "mxfp4:rceil, or element:length:scale:rule as float4_e2m1fn:8:ue5m3:nearest");
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

std::string_view keep(std::string_view name) {
  static std::mutex mutex;
  static auto* names = new std::deque<std::string>;  // never destroyed, as the rows that view them
  const std::lock_guard lock(mutex);
  for (const std::string& known : *names)
    if (known == name) return known;
  return names->emplace_back(name);
}

BlockFormat made_up(std::string_view name, const std::vector<std::string_view>& parts) {
  BlockFormat format{"", find_dtype(parts[0]), 0, find_dtype(parts[2]), ScaleRule::floor};
  const char* end = parts[1].data() + parts[1].size();
  const auto [stop, error] = std::from_chars(parts[1].data(), end, format.length);
  if (error != std::errc() || stop != end || format.length < 1 || format.length > 65536)
    refuse(name, fmt::format(" has blocks of \"{}\" elements (1 to 65536)", parts[1]));
  if (format.element.format().bits() > 8) refuse(name, " has elements of more than 8 bits");
  // Values are divided by their scales in float32, which must hold the largest element as a normal number.
  const double most = max_finite(format.element.format());
  if (most < 0x1p-126 || most > 0x1p127) refuse(name, " has elements out of the range of float32");
  if (format.scale.format().bits() > 16 || !format.scale.is_floating())
    refuse(name, " has a scale that is not a floating format of at most 16 bits");
  return format;
}

}  // namespace

std::string_view name(ScaleRule rule) { return kRules[static_cast<int>(rule)]; }

BlockFormat find_block_format(std::string_view name) {
  for (const BlockFormat& row : kBlockFormats)
    if (row.name == name) return row;
  const std::vector<std::string_view> parts = split(name);
  if (parts.size() != 2 && parts.size() != 4) refuse(name, "");
  BlockFormat format = parts.size() == 2 ? find_block_format(parts[0]) : made_up(name, parts);
  int rule = 0;
  while (rule < 5 && kRules[rule] != parts.back()) ++rule;
  if (rule == 5) refuse(name, fmt::format(" has the scale rule \"{}\" ({})", parts.back(), join(kRules)));
  format.rule = static_cast<ScaleRule>(rule);
  format.name = keep(name);
  return format;
}

}  // namespace halftone
