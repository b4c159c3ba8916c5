// SPDX-License-Identifier: Apache-2.0
#include "backend/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/error.h"

namespace halftone {
namespace {

TEST(RowsOf, OperandsMoveByRowsAndASingleRowStays) {
  const Tensor x = empty({2, 3, 5}), weight = empty({5}), one = empty({1, 1, 5}), y = empty({2, 3, 1});
  const Tensor in[] = {x, weight, one}, out[] = {y};
  const Nest nest = rows_of(in, out);
  EXPECT_EQ(nest.count(), 6);
  std::int64_t at[Nest::kOperands];
  nest.locate(4, nest.rank, at);
  EXPECT_EQ(at[0], 20);
  EXPECT_EQ(at[1], 0);
  EXPECT_EQ(at[2], 0);
  EXPECT_EQ(at[3], 4);
}

TEST(RowsOf, AScalarIsARowOfOne) {
  const Tensor x = empty(Shape());
  EXPECT_EQ(row_width(x), 1);
  EXPECT_EQ(rows_of(std::span(&x, 1), std::span(&x, 1)).count(), 1);
}

TEST(CheckIndices, NamesTheIndexItsPositionAndTheRange) {
  const Tensor good = from_values({0, 2, 1}, int32), high = from_values({0, 3}, int32),
               low = from_values({0, 1, -1}, int32);
  EXPECT_NO_THROW(check_indices("gather", good, 3));
  EXPECT_THROW(check_indices("gather", low, 3), ValueError);
  const auto expect_error = [](const Tensor& indices, std::int64_t count, const char* message) {
    try {
      check_indices("gather", indices, count);
      ADD_FAILURE() << "no exception";
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(message));
    }
  };
  expect_error(high, 3, "[gather] index 3 at position 1; expected 0 to 2");
  expect_error(good, 0, "expected no index: the table is empty");
}

}  // namespace
}  // namespace halftone
