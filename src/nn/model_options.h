// SPDX-License-Identifier: Apache-2.0
//
// The checks that the options of models share. Each throws ValueError naming model, option and value.
#pragma once

#include <fmt/format.h>

#include <climits>
#include <cstdint>
#include <string_view>

#include "halftone/tensor.h"

namespace halftone::models {

struct OptionCheck {
  std::string_view model;

  void require(bool good, std::string_view option, double value, std::string_view expected) const {
    if (!good) throw ValueError(model, fmt::format("{} {}", option, value), expected);
  }
  void size(std::string_view option, int value) const { require(value >= 1, option, value, "at least 1"); }
  // Rounded up to a multiple, as a size.
  int fitting(std::string_view option, std::int64_t value, std::int64_t multiple = 1) const {
    value = (value + multiple - 1) / multiple * multiple;
    require(value <= INT_MAX, option, static_cast<double>(value), "at most 2147483647");
    return static_cast<int>(value);
  }
  void positive(std::string_view option, double value) const {
    require(value > 0 && value <= 1e300, option, value, "a positive number");
  }
  void dropout(std::string_view option, double value) const {
    require(value >= 0 && value < 1, option, value, "from 0 to below 1");
  }
  void divides(std::string_view part, int divisor, std::string_view whole, int value) const {
    if (value % divisor != 0)
      throw ValueError(model, fmt::format("{} {} and {} {}", whole, value, part, divisor),
                       fmt::format("a number of {} that divides the {}", part, whole));
  }
};

// int32 (batch, tokens), of which, after `first` others, there are at most `context`.
inline void check_tokens(std::string_view model, const Tensor& tokens, std::int64_t first, int context) {
  if (!tokens || tokens.rank() != 2 || first + tokens.size(1) > context)
    throw ShapeError(model,
                     "tokens " + (tokens ? to_string(tokens.shape()) : "undefined") +
                         (first > 0 ? fmt::format(" after {} others", first) : ""),
                     fmt::format("(batch, tokens) of at most {} tokens", context));
}

}  // namespace halftone::models
