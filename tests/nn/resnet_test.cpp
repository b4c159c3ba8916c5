// SPDX-License-Identifier: Apache-2.0
#include "halftone/resnet.h"

#include <gmock/gmock.h>

#include "nn/model_checks.h"

namespace halftone::models {
namespace {

using namespace halftone::testing;

// He et al. 2016, table 6: 0.27, 0.46, 0.66, 0.85 M.
TEST(ResNet, HasAsManyParametersAsPublished) {
  EXPECT_EQ(count_of(ResNet({.depth = 20})), 269722);
  EXPECT_NEAR(count_of(ResNet({.depth = 32})) / 1e6, 0.46, 0.005);
  EXPECT_NEAR(count_of(ResNet({.depth = 44})) / 1e6, 0.66, 0.005);
  EXPECT_NEAR(count_of(ResNet({.depth = 56})) / 1e6, 0.85, 0.005);
}

TEST(ResNet, TakesColourAndGreyImages) {
  EXPECT_EQ(ResNet({.depth = 8})(random_normal({2, 32, 32, 3}, 1, 1)).shape(), (Shape{2, 10}));
  EXPECT_EQ(ResNet({.depth = 8, .channels = 1, .classes = 4})(random_normal({2, 28, 28, 1}, 1, 1)).shape(),
            (Shape{2, 4}));
  EXPECT_THROW(ResNet({.depth = 8})(zeros({2, 30, 30, 3})), ShapeError);
  EXPECT_THROW(ResNet({.depth = 8})(zeros({2, 32, 32, 1})), ShapeError);
  EXPECT_THROW(ResNet({.depth = 21}), ValueError);
  EXPECT_THROW(ResNet({.depth = 2}), ValueError);
  EXPECT_THROW(ResNet({.width = 0}), ValueError);
}

// With the last batch norm of a block at 0, the block is its shortcut.
TEST(ResNet, TheShortcutTakesEverySecondPixelAndAddsChannelsOfZeros) {
  ResNetBlock block(2, 4, 2);
  no_grad([&] { assign_(block.bn2.weight, zeros({4})); });
  Tensor x({1, 4, 4, 2}, float32);
  for (int i = 0; i < 32; ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  const Tensor y = block(x);
  ASSERT_EQ(y.shape(), (Shape{1, 2, 2, 4}));
  EXPECT_THAT(y.to_vector(), ::testing::ElementsAre(0, 1, 0, 0, 4, 5, 0, 0, 16, 17, 0, 0, 20, 21, 0, 0));
}

TEST(ResNet, ConvolutionsBeginWithTheVarianceOfTheirFanIn) {
  manual_seed(1);
  const ResNet model({.depth = 8});
  double square = 0;
  for (const double v : model.layer3[0].conv2.weight.to_vector()) square += v * v;
  EXPECT_NEAR(square / static_cast<double>(model.layer3[0].conv2.weight.count()), 2.0 / (9 * 64), 1e-4);
}

TEST(ResNet, GradientsAgreeWithFiniteDifferences) {
  manual_seed(1);
  ResNet model({.depth = 8, .channels = 1, .classes = 3, .width = 2});
  const Tensor images = random_normal({3, 8, 8, 1}, 1, 1, float64);
  expect_gradients(model, [&] { return cross_entropy(model(images), from_values({1, 0, 2}, int32)); });
}

}  // namespace
}  // namespace halftone::models
