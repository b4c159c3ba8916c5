// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

TEST(Recipe, EveryRowIsFoundByItsName) {
  std::set<std::string_view> names;
  for (const Recipe& recipe : kRecipes) {
    EXPECT_EQ(&find_recipe(recipe.name), &recipe);
    names.insert(recipe.name);
  }
  EXPECT_EQ(names.size(), std::size(kRecipes));
}

TEST(Recipe, AnUnknownNameListsTheNamesThereAre) {
  EXPECT_THROW(find_recipe("float17"), ValueError);
  const std::string message = message_of([] { find_recipe("float17"); });
  EXPECT_THAT(message, ::testing::HasSubstr("float17"));
  for (const Recipe& recipe : kRecipes) EXPECT_THAT(message, ::testing::HasSubstr(std::string(recipe.name)));
}

TEST(Recipe, AFormatToComputeInIsARecipe) {
  const Recipe& short_one = find_recipe("e5m7");
  EXPECT_EQ(short_one.compute, find_dtype("e5m7"));
  EXPECT_EQ(short_one.parameter, float32);
  EXPECT_EQ(short_one.master, MasterWeights::is_parameter);
  EXPECT_EQ(short_one.scaling, LossScaling::dynamic);
  EXPECT_EQ(&find_recipe("e5m7"), &short_one);
  EXPECT_EQ(find_recipe("tfloat32").scaling, LossScaling::none);
  EXPECT_EQ(find_recipe("float8_e5m2").compute, float8_e5m2);
  for (const char* name : {"int8", "uint8", "ue4m3", "float8_e8m0fnu", "float64", "e5m60", ""})
    EXPECT_EQ(find_recipe_if(name), nullptr) << name;
}

TEST(Recipe, RowsAreConsistent) {
  for (const Recipe& recipe : kRecipes) {
    EXPECT_EQ(recipe.parameter == float32, recipe.master == MasterWeights::is_parameter) << recipe.name;
    EXPECT_FALSE(recipe.shows.empty()) << recipe.name;
    EXPECT_TRUE(recipe.scaling == LossScaling::none || recipe.compute == float16) << recipe.name;
  }
}

TEST(Recipe, OneOfYourOwnIsKnownByItsName) {
  std::string name = "mine", format = "mxfp8_e5m2";
  const Recipe& mine = add_recipe({name,
                                   bfloat16,
                                   float32,
                                   MasterWeights::is_parameter,
                                   LossScaling::none,
                                   "a trial",
                                   {OperandScaling::block, format, format}});
  name = "other", format = "nonsense";  // texts are kept
  EXPECT_EQ(&find_recipe("mine"), &mine);
  EXPECT_EQ(mine.operands.forward, "mxfp8_e5m2");
  EXPECT_EQ(&add_recipe(mine), &mine);
  Recipe changed = mine;
  changed.compute = float16;
  EXPECT_THROW(add_recipe(changed), ValueError);
  EXPECT_EQ(find_recipe("mine").compute, bfloat16);
}

TEST(Recipe, OneThatCanNotBeIsRefused) {
  const auto refused = [](Recipe recipe, std::string_view part) {
    EXPECT_THROW(add_recipe(recipe), Error) << part;
    EXPECT_THAT(message_of([&] { add_recipe(recipe); }), ::testing::HasSubstr(std::string(part)));
    EXPECT_EQ(find_recipe_if("refused"), nullptr);
  };
  const Recipe good{"refused", bfloat16, float32, MasterWeights::is_parameter, LossScaling::none, ""};
  Recipe bad = good;
  bad.name = "";
  refused(bad, "no name");
  for (const char* name : {"../up", "a/b", ".hidden", "a\nb"}) {  // runs lie in folders of that name
    bad = good, bad.name = name;
    refused(bad, "not be that of a folder");
  }
  bad = good, bad.name = "float16";
  refused(bad, "name of the table");
  bad = good, bad.name = "e4m3";
  refused(bad, "name of a format");
  bad = good, bad.compute = int32;
  refused(bad, "int32");
  bad = good, bad.parameter = bfloat16;
  refused(bad, "is_parameter");
  bad = good, bad.master = MasterWeights::none;
  refused(bad, "is_parameter");
  bad = good, bad.parameter = float16, bad.master = MasterWeights::trailing_bits;
  refused(bad, "trailing bits of float16");
  bad = good, bad.operands.forward = "mxfp4";
  refused(bad, "without a scaling");
  bad = good, bad.operands = {OperandScaling::block, "mxfp4", "mxfp5"};
  refused(bad, "mxfp5");
  bad = good, bad.operands = {OperandScaling::block, "mxfp4", "ue4m3:16:float8_e8m0fnu:floor"};
  refused(bad, "signed elements");
  bad = good, bad.operands = {OperandScaling::current, "int8", "float8_e5m2"};
  refused(bad, "int8");
  // What is kept or scaled in float32 must be a float32; a product may be formed in double.
  for (const char* name : {"e11m20", "e9m6", "e8m3fn", "e5m26"}) {
    bad = good, bad.operands = {OperandScaling::current, name, "float8_e5m2"};
    refused(bad, "whose values are float32 ones");
    bad = good, bad.state = find_dtype(name);
    refused(bad, "whose values are float32 ones");
    bad = good, bad.parameter = find_dtype(name), bad.master = MasterWeights::float32_copy;
    refused(bad, "whose values are float32 ones");
    EXPECT_EQ(find_recipe(name).compute, find_dtype(name));
  }
  for (const char* name : {"e4m3b2000", "e1m2", "fixed8m6"}) {  // nothing near 1; up to 1.75; up to 1.98
    bad = good, bad.compute = find_dtype(name);
    refused(bad, "in whose range are 1 and 2");
  }
}

TEST(Recipe, EnumeratorsHaveTheirNames) {
  EXPECT_EQ(to_string(MasterWeights::none), "none");
  EXPECT_EQ(to_string(MasterWeights::is_parameter), "is_parameter");
  EXPECT_EQ(to_string(MasterWeights::float32_copy), "float32_copy");
  EXPECT_EQ(to_string(MasterWeights::trailing_bits), "trailing_bits");
  EXPECT_EQ(to_string(MasterWeights::stochastic), "stochastic");
  EXPECT_EQ(to_string(MasterWeights::compensated), "compensated");
  EXPECT_EQ(to_string(OperandScaling::none), "none");
  EXPECT_EQ(to_string(OperandScaling::current), "current");
  EXPECT_EQ(to_string(OperandScaling::delayed), "delayed");
  EXPECT_EQ(to_string(OperandScaling::block), "block");
  EXPECT_EQ(to_string(LossScaling::constant), "constant");
  EXPECT_EQ(to_string(LossScaling::none), "none");
  EXPECT_EQ(to_string(LossScaling::dynamic), "dynamic");
}

}  // namespace
}  // namespace halftone::amp
