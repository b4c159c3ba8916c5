// SPDX-License-Identifier: Apache-2.0
#include "report/describe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/records.h"

namespace halftone::report {
namespace {

std::string value(const Pairs& pairs, const std::string& name) {
  const auto found =
      std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  return found == pairs.end() ? "missing" : found->second;
}

TEST(Describe, ZeroMeansTheDefaultAllOrNone) {
  const Pairs pairs = configuration_pairs(train::Config{});
  EXPECT_EQ(value(pairs, "Learning rate"), "the default of the optimizer");
  EXPECT_EQ(value(pairs, "Training examples"), "all");
  EXPECT_EQ(value(pairs, "Gradient norm clipped at"), "not clipped");
  EXPECT_EQ(value(pairs, "Data"), "Debian's");
  EXPECT_EQ(value(pairs, "Results"), "not written");
  train::Config config;
  config.lr = 0.002;
  config.limit = 5000;
  EXPECT_EQ(value(configuration_pairs(config), "Learning rate"), "0.002");
  EXPECT_EQ(value(configuration_pairs(config), "Training examples"), "5,000");
}

TEST(Describe, TheConfigurationHasWhatARunOfItsTaskCanBeRepeatedWith) {
  train::Config config;
  config.task = "text";
  config.model = "llama";
  config.width = 96;
  config.kv_heads = 3;
  config.accumulate = 4;
  config.tokenizer = "bpe";
  config.dropout = 0.25;
  const Pairs text = configuration_pairs(config);
  EXPECT_EQ(value(text, "Width"), "96");
  EXPECT_EQ(value(text, "Layers"), "6");
  EXPECT_EQ(value(text, "Heads of keys and values"), "3");
  EXPECT_EQ(value(text, "Pieces of a batch"), "4");
  EXPECT_EQ(value(text, "Tokenizer"), "bpe");
  EXPECT_EQ(value(text, "Vocabulary"), "4,096");
  EXPECT_EQ(value(text, "Dropout"), "0.25");
  EXPECT_EQ(value(text, "Steps"), "2,000");
  EXPECT_EQ(value(text, "Steps between evaluations"), "250");
  EXPECT_EQ(value(text, "First loss scale"), "65,536");  // of the policy pytorch
  EXPECT_EQ(value(text, "Epochs"), "missing");
  const Pairs images = configuration_pairs(train::Config{});
  EXPECT_EQ(value(images, "Epochs"), "3");
  EXPECT_EQ(value(images, "Width"), "missing");
}

TEST(Describe, TheMachineIsNamedAndWhatIsUnknownIsSaid) {
  EXPECT_EQ(value(machine_pairs(sample_record()), "Cores"), "2 cores, 2 threads used");
  EXPECT_EQ(value(machine_pairs(sample_record()), "Matmul rate, float32"), "210 GFLOP/s");
  EXPECT_EQ(value(machine_pairs(train::RunRecord{}), "Processor"), "unknown");
  EXPECT_EQ(value(machine_pairs(train::RunRecord{}), "Matmul rate, float32"), "not measured");
}

TEST(Describe, ARecipeIsItsRow) {
  EXPECT_EQ(value(recipe_pairs("float16_master"), "Master weights"), "a float32 copy");
  EXPECT_EQ(value(recipe_pairs("bfloat16_pure"), "Master weights"),
            "none: updates are rounded into the parameters");
  EXPECT_EQ(value(recipe_pairs("float32"), "Loss scaling"), "none");
  EXPECT_EQ(recipe_pairs("mine").size(), 1u);
  EXPECT_EQ(value(recipe_pairs("float8"), "Operands of layers"),
            "float8_e4m3fn (gradients float8_e5m2): exact products, float32 sums");
  EXPECT_EQ(value(recipe_pairs("float8"), "Scales of operands"), "current");
  EXPECT_EQ(value(recipe_pairs("bfloat16_lean"), "Moments of the optimizer"), "bfloat16");
  EXPECT_EQ(value(memory_pairs(sample_record()), "Tensors, at the peak"), "212 MiB");
}

}  // namespace
}  // namespace halftone::report
