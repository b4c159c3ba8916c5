// SPDX-License-Identifier: Apache-2.0
#include "backend/iteration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace halftone {
namespace {

TEST(Nest, BroadcastingIsAStrideOfZero) {
  Nest nest({2, 3, 4});
  nest.add({2, 3, 4}, {12, 4, 1});
  nest.add({3, 1}, {1, 1});
  nest.add(Shape(), Shape());
  std::int64_t at[Nest::kOperands];
  nest.locate(23, 3, at);
  EXPECT_EQ(at[0], 23);
  EXPECT_EQ(at[1], 2);
  EXPECT_EQ(at[2], 0);
  for (int operand = 0; operand < 3; ++operand) EXPECT_EQ(nest.offset(23, 3, operand), at[operand]);
  EXPECT_EQ(nest.offset(0, 0, 0), 0);
}

TEST(Nest, ContiguousOperandsBecomeOneRun) {
  Nest nest({2, 1, 3, 4});
  nest.add({2, 1, 3, 4}, {12, 12, 4, 1});
  nest.add({2, 1, 3, 4}, {12, 7, 4, 1});
  nest.coalesce();
  EXPECT_EQ(nest.rank, 1);
  EXPECT_EQ(nest.size[0], 24);
  EXPECT_EQ(nest.stride[0][0], 1);
  EXPECT_EQ(nest.stride[0][1], 1);
}

TEST(Nest, DimensionsMergeOnlyWhereEveryOperandAllowsIt) {
  Nest nest({2, 3, 4});
  nest.add({2, 3, 4}, {12, 4, 1});
  nest.add({4}, {1});
  nest.coalesce();
  ASSERT_EQ(nest.rank, 2);
  EXPECT_EQ(nest.size[0], 6);
  EXPECT_EQ(nest.size[1], 4);
  EXPECT_EQ(nest.stride[0][1], 0);
}

TEST(Nest, SizesOfOneLeaveOneDimensionOfStrideOne) {
  for (const Shape& shape : {Shape(), Shape({1}), Shape({1, 1, 1})}) {
    Nest nest(shape);
    nest.add(Shape(), Shape());
    nest.coalesce();
    EXPECT_EQ(nest.rank, 1);
    EXPECT_EQ(nest.count(), 1);
    EXPECT_EQ(nest.stride[0][0], 1);
  }
}

TEST(Nest, OrderingFollowsTheStridesOfOneOperandAndVisitsTheSameElements) {
  Nest nest({3, 4, 1, 5});
  nest.add({3, 4, 1, 5}, {1, 15, 9, 3});  // permuted, but one run
  nest.add({3, 4, 1, 5}, {20, 5, 5, 1});
  std::vector<std::pair<std::int64_t, std::int64_t>> before, after;
  const auto visit = [&nest](auto& pairs) {
    for (std::int64_t i = 0; i < nest.count(); ++i) {
      std::int64_t at[Nest::kOperands];
      nest.locate(i, nest.rank, at);
      pairs.emplace_back(at[0], at[1]);
    }
    std::sort(pairs.begin(), pairs.end());
  };
  visit(before);
  nest.order_by(0);
  nest.coalesce();
  for (int d = 1; d < nest.rank; ++d) EXPECT_LE(nest.stride[d][0], nest.stride[d - 1][0]);
  visit(after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(nest.count(1), 20);  // the first and the last dimension have become one
}

}  // namespace
}  // namespace halftone
