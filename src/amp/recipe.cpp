// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <optional>

#include "halftone/amp.h"

namespace halftone::amp {
namespace {

std::optional<DType> format_called(std::string_view name) {
  try {
    return find_dtype(name);
  } catch (const DTypeError&) {
    return std::nullopt;
  }
}

// Matmuls in that format, float32 parameters, and loss scaling where the range is short of float32's.
const Recipe& made_from(DType compute) {
  static std::mutex mutex;
  static auto* recipes = new std::deque<Recipe>;  // never destroyed, as the formats they name
  const std::lock_guard lock(mutex);
  for (const Recipe& recipe : *recipes)
    if (recipe.compute == compute) return recipe;
  const bool is_short = max_finite(compute.format()) < 0x1p100 || min_normal(compute.format()) > 0x1p-100;
  return recipes->emplace_back(Recipe{compute.name(), compute, float32, MasterWeights::is_parameter,
                                      is_short ? LossScaling::dynamic : LossScaling::none,
                                      "made from the name of a format"});
}

}  // namespace

const Recipe* find_recipe_if(std::string_view name) {
  for (const Recipe& recipe : kRecipes)
    if (recipe.name == name) return &recipe;
  const std::optional<DType> format = format_called(name);
  const bool computes = format && format->is_floating() && format->format().is_signed &&
                        format->format().has_zero && format->format().bits() <= 32;
  return computes ? &made_from(*format) : nullptr;
}

const Recipe& find_recipe(std::string_view name) {
  if (const Recipe* recipe = find_recipe_if(name)) return *recipe;
  std::string names;
  for (const Recipe& recipe : kRecipes) names += fmt::format("{}{}", names.empty() ? "" : ", ", recipe.name);
  throw ValueError("recipe", fmt::format("'{}'", name), "one of " + names,
                   "the name of a signed floating format to compute in, as float8_e5m2 or e5m7");
}

std::string_view to_string(MasterWeights master) {
  switch (master) {
    case MasterWeights::none:
      return "none";
    case MasterWeights::is_parameter:
      return "is_parameter";
    case MasterWeights::float32_copy:
      return "float32_copy";
    case MasterWeights::trailing_bits:
      return "trailing_bits";
    case MasterWeights::stochastic:
      return "stochastic";
    case MasterWeights::compensated:
      return "compensated";
  }
  return "?";
}

std::string_view to_string(LossScaling scaling) {
  return scaling == LossScaling::dynamic ? "dynamic" : scaling == LossScaling::constant ? "constant" : "none";
}

}  // namespace halftone::amp
