// SPDX-License-Identifier: Apache-2.0
#include "op/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  std::iota(values.begin(), values.end(), 0);
  return from_values(values, shape);
}

TEST(Pool, EveryWindowIsARow) {
  const Tensor rows = window_rows(*thread_state().backend, counting({1, 4, 4, 1}), 2);
  EXPECT_EQ(rows.to_vector(), (std::vector<double>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
}

TEST(Pool, OfEqualMaximaTheFirstGetsTheGradient) {
  const Tensor x = ones({1, 2, 2, 1}).set_requires_grad();
  sum(max_pool2d(x, 2)).backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{1, 0, 0, 0}));
}

TEST(Pool, ANanWinsItsWindow) {
  for (const char* backend : {"cpu", "reference"})
    with_backend(backend, [&] {
      EXPECT_TRUE(
          std::isnan(max_pool2d(from_values(std::vector<double>{1, NAN, 3, 2}, {1, 2, 2, 1}), 2).item()))
          << backend;
    });
}

TEST(Pool, AverageOfLargeFloat16ValuesDoesNotOverflow) {
  EXPECT_EQ(avg_pool2d(full({1, 2, 2, 1}, 60000, float16), 2).item(), 60000);
}

TEST(Pool, AnAverageMayBeGlobal) {
  const Tensor x = random_normal({2, 28, 28, 3}, 1, 1);
  EXPECT_EQ(avg_pool2d(x, 28).shape(), (Shape{2, 1, 1, 3}));
  const std::vector<double> y = avg_pool2d(x, 28).to_vector(), mean = halftone::mean(x, {1, 2}).to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], mean[i], 1e-6);
}

TEST(Pool, TheLastOf256PlacesIsFound) {
  Tensor leaf = zeros({1, 16, 16, 1});
  leaf.mutable_data<float>()[255] = 2;
  leaf.set_requires_grad();
  const Tensor y = max_pool2d(leaf, 16);
  EXPECT_EQ(y.item(), 2);
  y.backward();
  EXPECT_EQ(leaf.grad().to_vector().back(), 1);
  EXPECT_THROW(max_pool2d(zeros({1, 17, 17, 1}), 17), ShapeError);
}

TEST(Pool, SizesMustDivide) {
  EXPECT_THROW(max_pool2d(ones({1, 5, 4, 1}), 2), ShapeError);
  EXPECT_THROW(avg_pool2d(ones({4, 4, 1}), 2), ShapeError);
  EXPECT_THROW(max_pool2d(ones({1, 4, 4, 1}), 0), ShapeError);
}

}  // namespace
}  // namespace halftone
