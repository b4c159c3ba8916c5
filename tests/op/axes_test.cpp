// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(Axes, AreRemovedOrKeptWithSizeOne) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Shape{});
  EXPECT_EQ(sum(x, {1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(sum(x, {0, -1}, true).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(sum(x, {0, 2}).to_vector(), (std::vector<double>{8, 8, 8}));
  EXPECT_EQ(mean(x, {0, 2}).to_vector(), (std::vector<double>{1, 1, 1}));
  EXPECT_THROW(sum(x, {3}), ShapeError);
}

TEST(Axes, GradientOfAMeanIsSharedEqually) {
  const Tensor x = ones({2, 4}).set_requires_grad();
  sum(mean(x, {1})).backward();
  EXPECT_EQ(x.grad().to_vector(), std::vector<double>(8, 0.25));
}

TEST(Axes, OneThatIsNotThereIsAnErrorOfTheOpThatWasCalled) {
  const auto message = [](Tensor (*op)(const Tensor&, const std::vector<int>&, bool)) {
    try {
      op(ones({2, 3}), {2}, false);
    } catch (const ShapeError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(sum).rfind("[sum] axis 2 of (2, 3)", 0), 0U);
  EXPECT_EQ(message(mean).rfind("[mean] axis 2 of (2, 3)", 0), 0U);
}

}  // namespace
}  // namespace halftone
