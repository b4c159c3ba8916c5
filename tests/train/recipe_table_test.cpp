// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "data/scratch.h"
#include "train/config.h"
#include "train/config_text.h"

namespace halftone::train {
namespace {

using halftone::testing::fuzz;
using halftone::testing::Scratch;
using ::testing::HasSubstr;

TEST(RecipeTable, EveryFieldCanBeSet) {
  const Config config = load(R"(
epochs = 2
[recipe]
name = "table_all"
shows = "what a table can say"
compute = "float16"
parameter = "bfloat16"
master = "stochastic"
scaling = "constant"
state = "bfloat16"
operands = { scaling = "block", forward = "mxfp6_e2m3", gradient = "mxfp8_e5m2:rceil", gradient_rounding = "stochastic" }
)");
  EXPECT_EQ(config.recipe, "table_all");
  EXPECT_EQ(config.epochs, 2);
  validate(config);
  const amp::Recipe expected{
      "table_all",
      float16,
      bfloat16,
      amp::MasterWeights::stochastic,
      amp::LossScaling::constant,
      "what a table can say",
      {amp::OperandScaling::block, "mxfp6_e2m3", "mxfp8_e5m2:rceil", Rounding::stochastic},
      bfloat16};
  EXPECT_EQ(amp::find_recipe("table_all"), expected);
}

TEST(RecipeTable, FieldsLeftOutHaveTheirDefaults) {
  load("[[recipes]]\nname = \"table_plain\"\n[[recipes]]\nname = \"table_half\"\nparameter = \"float16\"");
  const amp::Recipe& plain = amp::find_recipe("table_plain");
  EXPECT_EQ(plain.compute, float32);
  EXPECT_EQ(plain.parameter, float32);
  EXPECT_EQ(plain.master, amp::MasterWeights::is_parameter);
  EXPECT_EQ(plain.scaling, amp::LossScaling::none);
  EXPECT_EQ(plain.operands, amp::Operands{});
  EXPECT_EQ(amp::find_recipe("table_half").master, amp::MasterWeights::float32_copy);
}

TEST(RecipeTable, SeveralCanBeNamedWithoutBeingUsed) {
  EXPECT_EQ(load("recipes = []").recipe, Config{}.recipe);
  EXPECT_EQ(load("recipe = \"bfloat16\"\n[[recipes]]\nname = \"table_x\"").recipe, "bfloat16");
  EXPECT_EQ(load("recipe = \"table_y\"\n[[recipes]]\nname = \"table_y\"").recipe, "table_y");
}

TEST(RecipeTable, MistakesAreNamedWithTheirPlace) {
  EXPECT_THAT(error("[recipe]\nname = \"q\"\ncomputes = \"float16\""), HasSubstr("c.toml:3:1"));
  EXPECT_THAT(error("[recipe]\ncomputes = \"float16\""),
              HasSubstr("expected operands, name, shows, compute, parameter, state, master, scaling"));
  EXPECT_THAT(error("[recipe]\nname = 3"), HasSubstr("name is of another type; expected a string"));
  EXPECT_THAT(error("[recipe]\nname = \"q\"\nmaster = \"copy\""), HasSubstr("float32_copy, trailing_bits"));
  EXPECT_THAT(error("[recipe]\nname = \"q\"\ncompute = \"float17\""), HasSubstr("float17"));
  EXPECT_THAT(error("[recipe]\nname = \"q\"\noperands = { scaling = \"blocks\" }"),
              HasSubstr("none, current"));
  EXPECT_THAT(error("[recipe]\nname = \"q\"\noperands = { scale = \"block\" }"),
              HasSubstr("expected scaling, forward, gradient, gradient_rounding"));
  EXPECT_THAT(error("[recipe]\nname = \"q\"\noperands = { forward = \"mxfp4\" }"),
              HasSubstr("without a scaling"));
  EXPECT_THAT(error("[recipe]\ncompute = \"float16\""), HasSubstr("no name"));
  EXPECT_THAT(error("[recipe]\nname = \"float16\""), HasSubstr("a name of the table"));
  EXPECT_THAT(error("recipes = 3"), HasSubstr("tables [[recipes]]"));
  EXPECT_THAT(error("recipe = 3"), HasSubstr("recipe is of another type"));
  EXPECT_THAT(
      error("[[recipes]]\nname = \"table_z\"\n[[recipes]]\nname = \"table_z\"\ncompute = \"float16\""),
      HasSubstr("one recipe by each name"));
}

TEST(RecipeTable, TheExampleOfTheDocumentationIsUnderstood) {
  std::ifstream page(std::string(HALFTONE_SOURCE_DIR) + "/docs/recipes.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  const std::size_t begin = text.find("```toml\n") + 8;
  const Config config = load(text.substr(begin, text.find("```", begin) - begin));
  EXPECT_EQ(config.recipe, "mxfp8_e5m2");
  EXPECT_EQ(amp::find_recipe("float8_stochastic").operands.gradient_rounding, Rounding::stochastic);
  EXPECT_EQ(amp::find_recipe("float16_lean").state, bfloat16);
}

TEST(RecipeTable, AnyDamageIsAnErrorOrAConfiguration) {
  const std::string toml =
      "[recipe]\nname = \"table_fuzz\"\noperands = { scaling = \"block\", forward = \"mxfp4\", gradient = "
      "\"mxfp4\" }\n";
  const Scratch scratch;
  const int thrown = fuzz(scratch / "c.toml", toml, 4, 1000, [](const std::filesystem::path& file) {
    Config config;
    load_config(file, config);
  });
  EXPECT_GT(thrown, 500);
}

}  // namespace
}  // namespace halftone::train
