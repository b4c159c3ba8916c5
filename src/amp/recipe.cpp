// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "backend/precision.h"
#include "base/join.h"
#include "halftone/block.h"
#include "halftone/error.h"
#include "halftone/recipe.h"

namespace halftone::amp {
namespace {

std::optional<DType> format_called(std::string_view name) {
  try {
    return find_dtype(name);
  } catch (const DTypeError&) {
    return std::nullopt;
  }
}

// Recipes beside the table, and the texts they refer to. Never destroyed, as the formats they name.
struct Added {
  std::string name, shows, forward, gradient;
  Recipe recipe;
};
std::deque<Added>& added() {
  static auto* all = new std::deque<Added>;
  return *all;
}
std::mutex& mutex() {
  static std::mutex one;
  return one;
}

const Recipe* find_added(std::string_view name) {
  for (const Added& entry : added())
    if (entry.name == name) return &entry.recipe;
  return nullptr;
}

const Recipe& keep(const Recipe& recipe) {
  Added& entry = added().emplace_back(Added{std::string(recipe.name), std::string(recipe.shows),
                                            std::string(recipe.operands.forward),
                                            std::string(recipe.operands.gradient), recipe});
  entry.recipe.name = entry.name;
  entry.recipe.shows = entry.shows;
  entry.recipe.operands.forward = entry.forward;
  entry.recipe.operands.gradient = entry.gradient;
  return entry.recipe;
}

// Matmuls in that format, float32 parameters, and loss scaling where the range is short of float32's.
const Recipe& made_from(DType compute) {
  const std::lock_guard lock(mutex());
  if (const Recipe* known = find_added(compute.name())) return *known;
  const bool is_short = max_finite(compute.format()) < 0x1p100 || min_normal(compute.format()) > 0x1p-100;
  return keep({compute.name(), compute, float32, MasterWeights::is_parameter,
               is_short ? LossScaling::dynamic : LossScaling::none, "made from the name of a format"});
}

// Matmuls in it say something: 1 and 2 are not beyond its range.
bool computes(DType dtype) {
  const Format& format = dtype.format();
  return dtype.is_floating() && format.is_signed && format.has_zero && format.bits() <= 32 &&
         max_finite(format) >= 2 && min_subnormal(format) <= 1;
}

void require(bool holds, const Recipe& recipe, std::string given, std::string_view expected) {
  if (!holds) throw ValueError(fmt::format("recipe {}", recipe.name), given, expected);
}

void check(const Recipe& recipe) {
  require(!recipe.name.empty(), recipe, "no name", "a name");
  const auto is_odd = [](char c) { return c == '/' || (c >= 0 && c < ' ') || c == 127; };
  require(recipe.name[0] != '.' && std::none_of(recipe.name.begin(), recipe.name.end(), is_odd), recipe,
          "a name that can not be that of a folder", "no /, no control characters, no dot at the beginning");
  for (const DType dtype : {recipe.compute, recipe.parameter, recipe.state})
    require(computes(dtype), recipe, std::string(dtype.name()),
            "signed floating formats of at most 32 bits, in whose range are 1 and 2");
  for (const DType dtype : {recipe.parameter, recipe.state})
    require(!is_wide(dtype), recipe, std::string(dtype.name()), "a format whose values are float32 ones");
  require(
      (recipe.parameter == float32) == (recipe.master == MasterWeights::is_parameter), recipe,
      fmt::format("parameters in {} with master \"{}\"", recipe.parameter.name(), to_string(recipe.master)),
      "\"is_parameter\" for float32 parameters, and for no others");
  require(recipe.master != MasterWeights::trailing_bits || recipe.parameter == bfloat16, recipe,
          fmt::format("trailing bits of {}", recipe.parameter.name()), "bfloat16 parameters");
  const Operands& operands = recipe.operands;
  if (operands.scaling == OperandScaling::none) {
    require(operands.forward.empty() && operands.gradient.empty(), recipe,
            "formats of operands without a scaling", "operand scaling current, delayed or block");
    return;
  }
  for (const std::string_view name : {operands.forward, operands.gradient}) {
    if (operands.scaling == OperandScaling::block)
      require(find_block_format(name).element.format().is_signed, recipe, std::string(name),
              "blocks of signed elements");
    else
      require(computes(find_dtype(name)) && !is_wide(find_dtype(name)), recipe, std::string(name),
              "signed floating formats whose values are float32 ones");
  }
}

}  // namespace

const Recipe& add_recipe(const Recipe& recipe) {
  check(recipe);
  for (const Recipe& row : kRecipes)
    require(row.name != recipe.name, recipe, "a name of the table", "another");
  require(!format_called(recipe.name), recipe, "the name of a format", "another");
  const std::lock_guard lock(mutex());
  const Recipe* known = find_added(recipe.name);
  if (known == nullptr) return keep(recipe);
  require(*known == recipe, recipe, "another recipe of that name", "one recipe by each name");
  return *known;
}

const Recipe* find_recipe_if(std::string_view name) {
  for (const Recipe& recipe : kRecipes)
    if (recipe.name == name) return &recipe;
  {
    const std::lock_guard lock(mutex());
    if (const Recipe* recipe = find_added(name)) return recipe;
  }
  const std::optional<DType> format = format_called(name);
  return format && computes(*format) ? &made_from(*format) : nullptr;
}

const Recipe& find_recipe(std::string_view name) {
  if (const Recipe* recipe = find_recipe_if(name)) return *recipe;
  throw ValueError("recipe", fmt::format("'{}'", name),
                   fmt::format("one of {}", join(kRecipes, &Recipe::name)),
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

std::string_view to_string(OperandScaling scaling) {
  switch (scaling) {
    case OperandScaling::none:
      return "none";
    case OperandScaling::current:
      return "current";
    case OperandScaling::delayed:
      return "delayed";
    case OperandScaling::block:
      return "block";
  }
  return "?";
}

std::string_view to_string(LossScaling scaling) {
  return scaling == LossScaling::dynamic ? "dynamic" : scaling == LossScaling::constant ? "constant" : "none";
}

}  // namespace halftone::amp
