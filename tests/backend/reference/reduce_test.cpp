// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/backend.h"

namespace halftone {
namespace {

const Backend& reference() { return find_backend("reference"); }

const Tensor& numbers() {
  static const Tensor x = from_values({1, 2, 3, 4, 5, 6}, float16).view({2, 3}, {3, 1}, 0);
  return x;
}

TEST(ReferenceReduce, SumsAlongTheAxesWhereTheResultHasSizeOne) {
  const Tensor rows = empty({2, 1}), columns = empty({1, 3}), all = empty({1, 1}), none = empty({2, 3});
  for (const Tensor& y : {rows, columns, all, none}) reference().reduce(Reduction::sum, numbers(), y);
  EXPECT_EQ(rows.to_vector(), (std::vector<double>{6, 15}));
  EXPECT_EQ(columns.to_vector(), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(all.item(), 21);
  EXPECT_EQ(none.to_vector(), numbers().to_vector());
}

TEST(ReferenceReduce, ScalesTheSumAndAccumulates) {
  const Tensor y = full({1, 1}, 100);
  reference().reduce(Reduction::sum, numbers(), y, 0.5, true);
  EXPECT_EQ(y.item(), 110.5);
}

TEST(ReferenceReduce, ThousandOnesInBfloat16AreThousand) {
  const Tensor y = empty({1}, bfloat16);
  reference().reduce(Reduction::sum, ones({1000}, bfloat16), y);
  EXPECT_EQ(y.item(), 1000);
}

TEST(ReferenceReduce, TheMaximumKnowsNegativesNaNAndNothing) {
  const Tensor y = empty({1});
  reference().reduce(Reduction::max, from_values({-3, -2, -5}), y);
  EXPECT_EQ(y.item(), -2);
  for (const Tensor& x : {from_values({NAN, 1, 2}), from_values({1, NAN, 2}), from_values({1, 2, NAN})}) {
    reference().reduce(Reduction::max, x, y);
    EXPECT_TRUE(std::isnan(y.item()));
  }
  reference().reduce(Reduction::max, empty({0}), y);
  EXPECT_EQ(y.item(), -INFINITY);
}

}  // namespace
}  // namespace halftone
