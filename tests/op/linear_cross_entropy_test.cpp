// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/amp.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor targets() { return from_values({0, 2, -100, 1, 2}, int32); }

// ln sum_j exp(x w_j) - x w_t, the mean over rows that count, in double.
double expected(const std::vector<double>& x, const std::vector<double>& w, int width, int classes) {
  const std::vector<double> target = targets().to_vector();
  double total = 0;
  int counted = 0;
  for (std::size_t row = 0; row < target.size(); ++row) {
    if (target[row] < 0) continue;
    double sum = 0, chosen = 0;
    for (int j = 0; j < classes; ++j) {
      double logit = 0;
      for (int i = 0; i < width; ++i)
        logit += x[row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)] *
                 w[static_cast<std::size_t>(j * width + i)];
      sum += std::exp(logit);
      if (j == static_cast<int>(target[row])) chosen = logit;
    }
    total += std::log(sum) - chosen;
    ++counted;
  }
  return total / counted;
}

TEST(LinearCrossEntropy, IsTheCrossEntropyOfTheLogits) {
  Tensor x = random_normal({5, 4}, 1, 1), w = random_normal({3, 4}, 1, 2);
  x.set_requires_grad(), w.set_requires_grad();
  const Tensor loss = linear_cross_entropy(x, w, targets());
  EXPECT_EQ(loss.dtype(), float32);
  EXPECT_NEAR(loss.item(), expected(x.to_vector(), w.to_vector(), 4, 3), 1e-6);
  loss.backward();
  // The row that does not count has no gradient; those of the logits of a row add up to nothing.
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(x.grad().to_vector()[static_cast<std::size_t>(8 + i)], 0);
    double sum = 0;
    for (int j = 0; j < 3; ++j) sum += w.grad().to_vector()[static_cast<std::size_t>(4 * j + i)];
    EXPECT_NEAR(sum, 0, 1e-6);
  }
}

TEST(LinearCrossEntropy, TheLossIsFloat32InEveryRecipe) {
  const Tensor x = random_normal({5, 4}, 1, 1), w = random_normal({3, 4}, 1, 2);
  const double exact = linear_cross_entropy(x, w, targets()).item();
  for (const amp::Recipe& recipe : amp::kRecipes) {
    const Tensor loss =
        amp::autocast(amp::Casting(recipe), [&] { return linear_cross_entropy(x, w, targets()); });
    EXPECT_EQ(loss.dtype(), float32) << recipe.name;
    EXPECT_NEAR(loss.item(), exact, 0.5) << recipe.name;
  }
}

}  // namespace
}  // namespace halftone
