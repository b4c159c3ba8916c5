// SPDX-License-Identifier: Apache-2.0
#include "train/models.h"

#include <gtest/gtest.h>

namespace halftone::train {
namespace {

template <nn::Module Model>
std::int64_t weight_count(Model& model) {
  std::int64_t count = 0;
  for (const Parameter& parameter : nn::parameters(model)) count += parameter.value.count();
  return count;
}

TEST(Models, TheMlpHasTheWeightsOfItsDescription) {
  Mlp model;
  EXPECT_EQ(weight_count(model), 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
  EXPECT_TRUE(nn::buffers(model).empty());
  EXPECT_EQ(model(zeros({3, 28, 28, 1})).shape(), (Shape{3, 10}));
}

TEST(Models, TheCnnHasTheWeightsOfItsDescription) {
  Cnn model;
  const int convolutions = 9 * (1 * 32 + 32 * 64 + 64 * 128), norms = 2 * (32 + 64 + 128);
  EXPECT_EQ(weight_count(model), convolutions + norms + 6272 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(nn::buffers(model).size(), 6u);
  EXPECT_EQ(model(zeros({3, 28, 28, 1})).shape(), (Shape{3, 10}));
}

TEST(Models, EveryWeightReceivesAGradient) {
  Cnn model;
  const Tensor images = random_normal({2, 28, 28, 1}, 1, 2);
  cross_entropy(model(images), from_values({3, 7}, int32)).backward();
  for (const Parameter& parameter : nn::parameters(model)) {
    ASSERT_TRUE(parameter.value.grad().defined()) << parameter.name;
    EXPECT_EQ(parameter.value.grad().dtype(), float32) << parameter.name;
  }
}

}  // namespace
}  // namespace halftone::train
