// SPDX-License-Identifier: Apache-2.0
//
// Recipes of the user's own in a configuration file: a table of a recipe's fields under the key `recipe`
// (then the run uses it), or several under `recipes` (then --recipe and --recipes know their names).
//   [recipe]
//   name = "mine"
//   compute = "bfloat16"
//   operands = { scaling = "block", forward = "mxfp8_e4m3", gradient = "mxfp8_e5m2" }
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>

#include "halftone/recipe.h"

namespace halftone::train {

// Where a message says it is: "FILE:LINE:COLUMN".
std::string place(const std::filesystem::path& file, const toml::source_position& at);

// Fields left out are those of float32 (parameters "float32" go with the master "is_parameter", others with
// "float32_copy"). Makes the recipe known (amp::add_recipe). Throws FileError naming file, line and key for
// an unknown key, a wrong type or a recipe that can not be.
const amp::Recipe& add_recipe(const std::filesystem::path& file, const toml::table& table);

}  // namespace halftone::train
