// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "halftone/amp.h"

namespace halftone::amp {

const Recipe& find_recipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes)
    if (recipe.name == name) return recipe;
  std::string names;
  for (const Recipe& recipe : kRecipes) names += fmt::format("{}{}", names.empty() ? "" : ", ", recipe.name);
  throw ValueError("recipe", fmt::format("'{}'", name), "one of " + names);
}

std::string_view to_string(MasterWeights master) {
  switch (master) {
    case MasterWeights::none:
      return "none";
    case MasterWeights::is_parameter:
      return "is_parameter";
    case MasterWeights::float32_copy:
      return "float32_copy";
  }
  return "?";
}

std::string_view to_string(LossScaling scaling) {
  return scaling == LossScaling::dynamic ? "dynamic" : "none";
}

}  // namespace halftone::amp
