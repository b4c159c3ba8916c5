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

TEST(Pool, SizesMustDivide) {
  EXPECT_THROW(max_pool2d(ones({1, 5, 4, 1}), 2), ShapeError);
  EXPECT_THROW(avg_pool2d(ones({4, 4, 1}), 2), ShapeError);
  EXPECT_THROW(max_pool2d(ones({1, 4, 4, 1}), 0), ShapeError);
}

}  // namespace
}  // namespace halftone
