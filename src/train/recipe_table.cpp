// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "base/join.h"
#include "halftone/error.h"

namespace halftone::train {
namespace {

using amp::LossScaling;
using amp::MasterWeights;
using amp::OperandScaling;
using amp::Recipe;

// What a key does with its text; throws an Error that says what the text may be.
struct Key {
  std::string_view name;
  std::function<void(Recipe&, std::string_view text)> assign;
};

template <class E>
E one_of(std::string_view key, std::string_view text, std::initializer_list<E> all) {
  for (const E one : all)
    if (amp::to_string(one) == text) return one;
  throw ValueError(key, fmt::format("\"{}\"", text), join(all, [](E one) { return amp::to_string(one); }));
}

const Key kKeys[] = {
    {"name", [](Recipe& r, std::string_view text) { r.name = text; }},
    {"shows", [](Recipe& r, std::string_view text) { r.shows = text; }},
    {"compute", [](Recipe& r, std::string_view text) { r.compute = find_dtype(text); }},
    {"parameter", [](Recipe& r, std::string_view text) { r.parameter = find_dtype(text); }},
    {"state", [](Recipe& r, std::string_view text) { r.state = find_dtype(text); }},
    {"master",
     [](Recipe& r, std::string_view text) {
       using enum MasterWeights;
       r.master =
           one_of("master", text, {none, is_parameter, float32_copy, trailing_bits, stochastic, compensated});
     }},
    {"scaling",
     [](Recipe& r, std::string_view text) {
       using enum LossScaling;
       r.scaling = one_of("scaling", text, {none, dynamic, constant});
     }},
};

const Key kOperandKeys[] = {
    {"scaling",
     [](Recipe& r, std::string_view text) {
       using enum OperandScaling;
       r.operands.scaling = one_of("scaling", text, {none, current, delayed, block});
     }},
    {"forward", [](Recipe& r, std::string_view text) { r.operands.forward = text; }},
    {"gradient", [](Recipe& r, std::string_view text) { r.operands.gradient = text; }},
    {"gradient_rounding",
     [](Recipe& r, std::string_view text) { r.operands.gradient_rounding = parse_rounding(text); }},
};

void read(const std::filesystem::path& file, const toml::table& table, std::span<const Key> keys,
          std::string_view table_key, Recipe& recipe) {
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    if (!table_key.empty() && name == table_key && value.is_table()) {
      read(file, *value.as_table(), kOperandKeys, "", recipe);
      continue;
    }
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const Key& known) { return known.name == name; });
    if (found == keys.end())
      throw FileError(
          place(file, key.source().begin), fmt::format("the key \"{}\" of a recipe", name),
          fmt::format("{}{}{}", table_key, table_key.empty() ? "" : ", ", join(keys, &Key::name)));
    if (!value.is_string())
      throw FileError(place(file, value.source().begin), fmt::format("{} is of another type", name),
                      "a string");
    try {
      found->assign(recipe, value.as_string()->get());
    } catch (const Error& error) {
      throw FileError(place(file, value.source().begin), error.what());
    }
  }
}

}  // namespace

std::string place(const std::filesystem::path& file, const toml::source_position& at) {
  return fmt::format("{}:{}:{}", file.string(), at.line, at.column);
}

const amp::Recipe& add_recipe(const std::filesystem::path& file, const toml::table& table) {
  Recipe recipe{"", float32, float32, MasterWeights::is_parameter, LossScaling::none, "made by the user"};
  read(file, table, kKeys, "operands", recipe);
  if (recipe.parameter != float32 && !table.contains("master")) recipe.master = MasterWeights::float32_copy;
  try {
    return amp::add_recipe(recipe);
  } catch (const Error& error) {
    throw FileError(place(file, table.source().begin), error.what());
  }
}

}  // namespace halftone::train
