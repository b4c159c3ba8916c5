// SPDX-License-Identifier: Apache-2.0
//
// The fields of train::Config as rows of data: a row says how a field is read from TOML, what it may be, and
// whether it changes the bits of a run (then a resumed run must agree on it).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/train.h"

namespace halftone::train {

using Member = std::variant<std::string Config::*, int Config::*, std::int64_t Config::*, double Config::*,
                            bool Config::*, std::filesystem::path Config::*>;

struct Field {
  std::string_view name;
  Member member;
  double low, high;              // numbers: inclusive
  bool changes_bits;             // of the trained weights
  bool zero_is_default = false;  // 0 is allowed, too, and stands for what something else says
  std::string_view task = "";    // the only task it means something for
  bool is_later = false;         // a state file without it is older, of a run with its default
};
std::span<const Field> config_fields();

// The names that task, model, recipe, optimizer, decay or scaler is one of (a recipe may be a format's name,
// too); none for any other field.
std::vector<std::string_view> names_for(std::string_view field, const Config& config);

// The value as text; doubles in the shortest form that reads back to the same number.
std::string to_string(const Field& field, const Config& config);

// What the field may be, if it is something else; empty if all is well.
std::string complaint(const Field& field, const Config& config);

}  // namespace halftone::train
