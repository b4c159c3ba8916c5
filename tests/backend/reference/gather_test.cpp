// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/backend.h"

namespace halftone {
namespace {

const Backend& reference() { return find_backend("reference"); }

TEST(ReferenceGather, RowsArriveInTheOrderOfTheIndices) {
  const Tensor table = from_values({0, 1, 10, 11, 20, 21}, float16).view({3, 2}, {2, 1}, 0);
  const Tensor rows = empty({3, 2});
  reference().gather(table, from_values({2, 0, 2}, int32), rows);
  EXPECT_EQ(rows.to_vector(), (std::vector<double>{20, 21, 0, 1, 20, 21}));
}

TEST(ReferenceScatterAdd, RepeatedIndicesAddUpWithOneRounding) {
  const Tensor table = full({2, 1}, 5, bfloat16);
  reference().scatter_add(table, zeros({1000}, int32), ones({1000, 1}, bfloat16));
  EXPECT_EQ(table.to_vector(), (std::vector<double>{1004, 5}));  // 1005, to the nearest multiple of 4
}

TEST(ReferenceScatterAdd, AWrongIndexLeavesTheTableUntouched) {
  const Tensor table = zeros({2, 1});
  EXPECT_THROW(reference().scatter_add(table, from_values({0, 2}, int32), ones({2, 1})), ValueError);
  EXPECT_THROW(reference().gather(table, from_values({-1}, int32), ones({1, 1})), ValueError);
  EXPECT_EQ(table.to_vector(), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace halftone
