// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "halftone/nn.h"

namespace halftone::nn {
namespace {

using ::testing::ElementsAre;

struct Inner {
  Linear a{2, 3};
  BatchNorm norm{3};
  void visit(auto&& each) { each("a", a), each("norm", norm); }
};
struct Outer {
  std::vector<Inner> blocks = std::vector<Inner>(2);
  Linear head{3, 1, false};
  Dropout drop{0.5};
  void visit(auto&& each) { each("blocks", blocks), each("head", head), each("drop", drop); }
};

std::vector<std::string> names(const std::vector<Parameter>& parameters) {
  std::vector<std::string> all;
  for (const Parameter& p : parameters) all.push_back(p.name);
  return all;
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (const double value : tensor.to_vector()) most = std::max(most, std::abs(value));
  return most;
}

TEST(Layers, AreWalkedByPath) {
  Outer model;
  EXPECT_THAT(names(parameters(model)),
              ElementsAre("blocks.0.a.weight", "blocks.0.a.bias", "blocks.0.norm.weight",
                          "blocks.0.norm.bias", "blocks.1.a.weight", "blocks.1.a.bias",
                          "blocks.1.norm.weight", "blocks.1.norm.bias", "head.weight"));
  EXPECT_THAT(names(buffers(model)),
              ElementsAre("blocks.0.norm.running_mean", "blocks.0.norm.running_variance",
                          "blocks.1.norm.running_mean", "blocks.1.norm.running_variance"));
}

TEST(Layers, ParametersAreTrainableAndBuffersAreNot) {
  Outer model;
  for (const Parameter& p : parameters(model)) EXPECT_TRUE(p.value.requires_grad()) << p.name;
  for (const Parameter& p : buffers(model)) EXPECT_FALSE(p.value.requires_grad()) << p.name;
}

TEST(Layers, MatricesMoveToANarrowFormatAndVectorsStay) {
  Outer model;
  const std::vector<double> before = model.head.weight.to_vector();
  to(model, float16);
  for (const Parameter& p : parameters(model)) {
    EXPECT_EQ(p.value.dtype(), p.value.rank() >= 2 ? float16 : float32) << p.name;
    EXPECT_TRUE(p.value.requires_grad()) << p.name;
  }
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(model.head.weight.to_vector()[i], before[i], std::abs(before[i]) / 2048);
}

TEST(Layers, LinearStartsWithinTheInverseRootOfItsWidth) {
  manual_seed(1);
  const Linear layer(64, 100);
  EXPECT_EQ(layer.weight.shape(), (Shape{100, 64}));
  EXPECT_EQ(layer.bias.shape(), Shape{100});
  EXPECT_LE(largest(layer.weight), 0.125);
  EXPECT_GT(largest(layer.weight), 0.12);
  EXPECT_LE(largest(layer.bias), 0.125);
  EXPECT_FALSE(Linear(2, 2, false).bias.defined());
}

TEST(Layers, Conv2dStartsWithinTheInverseRootOfItsFanIn) {
  manual_seed(1);
  const Conv2d layer(16, 32, 2, 1, 1);
  EXPECT_EQ(layer.weight.shape(), (Shape{32, 2, 2, 16}));
  EXPECT_LE(largest(layer.weight), 0.125);
  EXPECT_GT(largest(layer.weight), 0.12);
  EXPECT_EQ(layer(zeros({1, 5, 5, 16})).shape(), (Shape{1, 6, 6, 32}));
  EXPECT_FALSE(Conv2d(1, 1, 3, 1, 0, false).bias.defined());
}

TEST(Layers, BatchNormNormalisesInTrainingAndRemembersForInference) {
  BatchNorm norm(1, 0.5);
  const Tensor x = reshape(from_values({0, 4}), {2, 1});
  const std::vector<double> y = norm(x).to_vector();
  EXPECT_NEAR(y[0], -1, 1e-5);
  EXPECT_NEAR(y[1], 1, 1e-5);
  EXPECT_EQ(norm.running_mean.value.item(), 1);
  const double variance = norm.running_variance.value.item();
  const Tensor z = inference([&] { return norm(x); });
  EXPECT_NEAR(z.to_vector()[0], -1 / std::sqrt(variance + 1e-5), 1e-5);
  EXPECT_EQ(norm.running_mean.value.item(), 1);
}

TEST(Layers, LayerNormNormalisesRows) {
  const LayerNorm norm(2);
  const std::vector<double> y = norm(reshape(from_values({300, -300}), {1, 2})).to_vector();  // fault D6
  EXPECT_NEAR(y[0], 1, 1e-5);
  EXPECT_NEAR(y[1], -1, 1e-5);
}

TEST(Layers, EmbeddingLooksUpRows) {
  const Embedding table(5, 3);
  EXPECT_LT(largest(table.weight), 0.12);
  Tensor index(Shape{2}, int32);
  index.mutable_data<std::int32_t>()[0] = 4;
  index.mutable_data<std::int32_t>()[1] = 0;
  const Tensor rows = table(index);
  EXPECT_EQ(rows.shape(), (Shape{2, 3}));
  EXPECT_EQ(rows.to_vector()[0], table.weight.to_vector()[12]);
  EXPECT_EQ(rows.to_vector()[3], table.weight.to_vector()[0]);
}

TEST(Layers, DropoutDropsInTrainingOnly) {
  manual_seed(1);
  const Dropout drop{0.5};
  const Tensor x = ones({1000});
  std::size_t zeros_seen = 0;
  for (const double value : drop(x).to_vector()) zeros_seen += value == 0;
  EXPECT_NEAR(static_cast<double>(zeros_seen), 500, 80);
  EXPECT_EQ(inference([&] { return drop(x); }).to_vector(), x.to_vector());
}

TEST(Layers, SizesBelowOneAreRefused) {
  EXPECT_THROW(Linear(0, 1), ValueError);
  EXPECT_THROW(Conv2d(1, 1, 3, 0), ValueError);
  EXPECT_THROW(Conv2d(1, 1, 3, 1, -1), ValueError);
  EXPECT_THROW(BatchNorm(0), ValueError);
  EXPECT_THROW(LayerNorm(-3), ValueError);
  EXPECT_THROW(Embedding(1, 0), ValueError);
}

struct PartlyWide {
  Linear up{2, 2};
  Autocast<Linear> down{amp::Casting(float32), Linear(2, 2)};
  Tensor operator()(const Tensor& x) const { return down(up(x)); }
  void visit(auto&& each) { each("up", up), each("down", down); }
};

TEST(AutocastModule, RunsInItsOwnFormatAndKeepsTheNamesOfItsParts) {
  PartlyWide model;
  EXPECT_EQ(parameters(model)[2].name, "down.weight");
  const Tensor x = ones({1, 2});
  amp::autocast(float16, [&] {
    EXPECT_EQ(model.up(x).dtype(), float16);
    EXPECT_EQ(model(x).dtype(), float32);
    const Autocast<Linear> narrow{amp::Casting(bfloat16), Linear(2, 2)};
    EXPECT_EQ(narrow(x).dtype(), bfloat16);
    EXPECT_EQ(model.up(x).dtype(), float16);
  });
  const Autocast<Linear> narrow{amp::Casting(amp::find_recipe("mxfp4")), Linear(2, 2)};
  EXPECT_EQ(narrow(x).dtype(), bfloat16);
}

}  // namespace
}  // namespace halftone::nn
