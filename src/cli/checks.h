// SPDX-License-Identifier: Apache-2.0
//
// Checks of what was typed that several commands make.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace halftone::cli {

// A number from `low` to `high`. CLI::Range lets NaN through.
template <class T>
CLI::Validator within(T low, T high) {
  const auto check = [low, high](const std::string& text) {
    T value{};
    bool fits = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    if constexpr (std::is_integral_v<T>)  // CLI's own stops at the largest
      fits = fits && std::from_chars(text.data(), text.data() + text.size(), value).ec !=
                         std::errc::result_out_of_range;
    if (fits) return std::string();
    return fmt::format("{}; expected {} to {}", text, low, high);
  };
  return {check, fmt::format("{} in [{} - {}]", CLI::detail::type_name<T>(), low, high)};
}

// A number without a sign: read into 64 bits that have none, -1 would become a large one.
inline CLI::Validator seed() {
  return within<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()).description("");
}

// Throws a usage error if a name is in the list twice.
inline void once_each(const std::string& option, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::count(names.begin(), names.end(), name) > 1)
      throw CLI::ValidationError(option, name + " is there twice");
}

}  // namespace halftone::cli
