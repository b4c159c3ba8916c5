// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/backend.h"

namespace halftone {
namespace {

const Backend& reference() { return find_backend("reference"); }

TEST(ReferenceMatmul, RowsTimesColumns) {
  const Tensor a = from_values({1, 2, 3, 4, 5, 6}).view({2, 3}, {3, 1}, 0);
  const Tensor b = from_values({1, 0, 2, 1, 0, 1}).view({3, 2}, {2, 1}, 0), c = full({2, 2}, 100);
  reference().matmul({.a = a, .b = b, .c = c, .bias = Tensor()});
  EXPECT_EQ(c.to_vector(), (std::vector<double>{5, 5, 14, 11}));
  reference().matmul({.a = a, .b = b, .c = c, .bias = from_values({1000, 2000}), .accumulate = true});
  EXPECT_EQ(c.to_vector(), (std::vector<double>{1010, 2010, 1028, 2022}));
}

TEST(ReferenceMatmul, ATransposedOperandIsAMatterOfStrides) {
  const Tensor a = from_values({1, 2, 3, 4}, bfloat16).view({2, 2}, {1, 2}, 0);  // (1 3; 2 4)
  const Tensor b = from_values({1, 1}, float16).view({2, 1}, {1, 1}, 0), c = empty({2, 1});
  reference().matmul({.a = a, .b = b, .c = c, .bias = Tensor()});
  EXPECT_EQ(c.to_vector(), (std::vector<double>{4, 6}));
}

TEST(ReferenceMatmul, BatchesShareARightOperandWithoutABatch) {
  const Tensor a = from_values({1, 2, 3, 4}).view({2, 1, 2}, {2, 2, 1}, 0);
  const Tensor b = from_values({1, 10}).view({2, 1}, {1, 1}, 0), c = empty({2, 1, 1});
  reference().matmul({.a = a, .b = b, .c = c, .bias = Tensor()});
  EXPECT_EQ(c.to_vector(), (std::vector<double>{21, 43}));
}

TEST(ReferenceMatmul, TheSumIsRoundedOnce) {
  const Tensor a = ones({1, 1000}, bfloat16), b = ones({1000, 1}, bfloat16), c = empty({1, 1}, bfloat16);
  reference().matmul({.a = a, .b = b, .c = c, .bias = Tensor()});
  EXPECT_EQ(c.item(), 1000);
}

}  // namespace
}  // namespace halftone
