// SPDX-License-Identifier: Apache-2.0
//
// Sums and maxima of columns: the innermost dimension is kept.
#include <gtest/gtest.h>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& cpu() { return find_backend("cpu"); }

// Sizes around the folds, the tiles and the segments; whole numbers whose sums are exact.
TEST(ReduceAcross, EveryElementCountsOnceAtEverySize) {
  for (const DType dtype : {float32, float16})
    for (const std::int64_t rows : {1, 2, 3, 5, 7, 64, 257, 1030, 9000})
      for (const std::int64_t columns : {2, 3, 31, 128, 129, 255, 256, 257, 600}) {
        if (rows * columns > 600000) continue;
        std::vector<double> values, expected(static_cast<std::size_t>(columns));
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            values.push_back(static_cast<double>((i * 7 + j * j) % 101));
            expected[static_cast<std::size_t>(j)] += values.back();
          }
        const Tensor x = from_values(values, {rows, columns}, dtype), y = empty({1, columns});
        cpu().reduce(Reduction::sum, x, y);
        EXPECT_EQ(y.to_vector(), expected) << rows << " x " << columns << " " << dtype.name();
      }
}

TEST(ReduceAcross, TheErrorOfALongSumIsThatOfOneRounding) {
  const std::int64_t rows = 200001, columns = 5;
  const Tensor x = random_uniform({rows, columns}, 0, 1, 7, 0), y = empty({1, columns});
  const auto* values = x.data<float>();
  cpu().reduce(Reduction::sum, x, y);
  const std::vector<double> sums = y.to_vector();
  for (std::int64_t j = 0; j < columns; ++j) {
    double expected = 0;
    for (std::int64_t i = 0; i < rows; ++i) expected += values[i * columns + j];
    EXPECT_NEAR(sums[static_cast<std::size_t>(j)], expected, 1e-7 * expected);
  }
}

TEST(ReduceAcross, ANaNAnywhereIsTheMaximumOfItsColumnOnly) {
  for (const std::int64_t columns : {3, 300})
    for (const std::int64_t rows : {1, 4, 7, 41})
      for (std::int64_t at = 0; at < rows; ++at) {
        std::vector<double> values(static_cast<std::size_t>(rows * columns), -1.0);
        values[static_cast<std::size_t>(at * columns + 1)] = NAN;
        const Tensor x = from_values(values, {rows, columns}, bfloat16), y = empty({1, columns});
        cpu().reduce(Reduction::max, x, y);
        const std::vector<double> maxima = y.to_vector();
        for (std::size_t j = 0; j < maxima.size(); ++j)
          if (j == 1)
            EXPECT_TRUE(std::isnan(maxima[j])) << "row " << at << " of " << rows;
          else
            EXPECT_EQ(maxima[j], -1);
      }
}

}  // namespace
}  // namespace halftone
