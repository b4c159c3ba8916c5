// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace halftone::report {
namespace {

std::string flat(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write(const Json& json, const std::string& indent, std::string& out) {
  const auto flat_item = [](const Json& item) { return !item.is_structured(); };
  if (!json.is_structured() || json.empty() ||
      (json.is_array() && std::all_of(json.begin(), json.end(), flat_item))) {
    out += flat(json);
    return;
  }
  const std::string inner = indent + "  ";
  out += json.is_object() ? "{\n" : "[\n";
  bool first = true;
  for (const auto& item : json.items()) {
    if (!first) out += ",\n";
    first = false;
    out += inner;
    if (json.is_object()) out += flat(item.key()) + ": ";
    write(item.value(), inner, out);
  }
  out += "\n" + indent + (json.is_object() ? "}" : "]");
}

}  // namespace

std::string layout(const Json& json) {
  std::string out;
  write(json, "", out);
  return out + "\n";
}

double short_double(float value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{}", value).c_str(), nullptr)
                              : static_cast<double>(value);
}

}  // namespace halftone::report
