// SPDX-License-Identifier: Apache-2.0
#include "nn/init.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "halftone/nn.h"
#include "halftone/random.h"

namespace halftone::nn {
namespace {

TEST(Init, UniformParametersFillTheirInterval) {
  manual_seed(3);
  const Tensor w = uniform_parameter({100, 100}, 0.25);
  EXPECT_TRUE(w.requires_grad());
  EXPECT_EQ(w.dtype(), float32);
  const std::vector<double> values = w.to_vector();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -0.25);
  EXPECT_LT(*high, 0.25);
  EXPECT_LT(*low, -0.249);
  EXPECT_GT(*high, 0.249);
  double mean = 0, square = 0;
  for (const double value : values) mean += value / 1e4, square += value * value / 1e4;
  EXPECT_NEAR(mean, 0, 5 * 0.25 / std::sqrt(3) / 100);
  EXPECT_NEAR(square, 0.25 * 0.25 / 3, 0.001);
}

TEST(Init, NormalParametersHaveTheirDeviation) {
  manual_seed(3);
  const std::vector<double> values = normal_parameter({10000}, 0.02).to_vector();
  double mean = 0, square = 0;
  for (const double value : values) mean += value / 1e4, square += value * value / 1e4;
  EXPECT_NEAR(mean, 0, 1e-3);
  EXPECT_NEAR(std::sqrt(square), 0.02, 1e-3);
}

TEST(Init, TheSeedDecides) {
  manual_seed(1);
  const std::vector<double> first = uniform_parameter({5}, 1).to_vector(),
                            next = uniform_parameter({5}, 1).to_vector();
  manual_seed(1);
  EXPECT_EQ(uniform_parameter({5}, 1).to_vector(), first);
  EXPECT_EQ(uniform_parameter({5}, 1).to_vector(), next);
  EXPECT_NE(first, next);
  manual_seed(2);
  EXPECT_NE(uniform_parameter({5}, 1).to_vector(), first);
}

TEST(Init, ElementsAreNumbersOfTheInitialiseStream) {
  manual_seed(9);
  take_random(17);
  const Tensor w = uniform_parameter({4}, 3);
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(w.data<float>()[i], 3 * (2 * random_uniform_at(9, streams::initialise, 17 + i) - 1));
  EXPECT_EQ(thread_state().random_index, 21u);
}

TEST(Init, NoNumbersAreDrawnForWeightsThatAreAboutToBeRead) {
  manual_seed(1);
  {
    const WithoutInitialValues outer;
    { const WithoutInitialValues inner; }
    EXPECT_TRUE(uniform_parameter({5}, 1).requires_grad());
    EXPECT_EQ(normal_parameter({2, 3}, 1).shape(), (Shape{2, 3}));
    EXPECT_EQ(constant_parameter({2}, 1).to_vector(), (std::vector<double>{1, 1}));
  }
  EXPECT_EQ(thread_state().random_index, 0u);
  uniform_parameter({5}, 1);
  EXPECT_EQ(thread_state().random_index, 5u);
}

TEST(Init, ConstantsAndSizes) {
  EXPECT_THAT(constant_parameter({2}, 1).to_vector(), ::testing::ElementsAre(1, 1));
  EXPECT_TRUE(constant_parameter({2}, 1).requires_grad());
  check_sizes("Layer", {1, 2});
  EXPECT_THROW(check_sizes("Layer", {1, 0}), ValueError);
}

}  // namespace
}  // namespace halftone::nn
