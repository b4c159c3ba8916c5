// SPDX-License-Identifier: Apache-2.0
#include "op/memory_order.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

TEST(InOrderOf, KeepsTheOrderOfTheAxesWithoutTheGaps) {
  const Tensor base({2, 5, 100}, float32);  // (batch, context, columns)
  const Tensor heads = base.view({2, 3, 5, 4}, {500, 4, 100, 1}, 8), made = in_order_of(heads, bfloat16);
  EXPECT_EQ(made.shape(), heads.shape());
  EXPECT_EQ(made.dtype(), bfloat16);
  EXPECT_EQ(made.strides(), (Shape{60, 4, 12, 1})) << "(batch, context, heads, width) in memory";
  EXPECT_EQ(made.offset(), 0);
  EXPECT_EQ(made.storage()->bytes,
            in_order_of(base.view({2, 3, 5, 4}, {60, 20, 4, 1}, 0), bfloat16).storage()->bytes);
  EXPECT_TRUE(made.is_unique());
}

TEST(InOrderOf, EndsWithTheLastAxisWhateverItsStride) {
  const Tensor base({4, 6}, float32);
  EXPECT_EQ(in_order_of(base.view({6, 4}, {1, 6}, 0), float32).strides(), (Shape{4, 1}));
  EXPECT_EQ(in_order_of(base.view({4, 4, 6}, {6, 0, 1}, 0), float32).strides(), (Shape{24, 6, 1}));
  EXPECT_TRUE(in_order_of(base, float32).is_contiguous());
  EXPECT_EQ(in_order_of(Tensor({}, float32), float32).rank(), 0);
  EXPECT_EQ(in_order_of(Tensor({3, 0, 2}, float32), float32).count(), 0);
}

TEST(MemoryOrder, WhatIsContiguousIsNotCopied) {
  const Backend& backend = find_backend("cpu");
  const Tensor x = from_values(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(contiguous(backend, x).raw(), x.raw());
  EXPECT_NE(copied(backend, x).raw(), x.raw());
  const Tensor turned = contiguous(backend, x.view({3, 2}, {1, 3}, 0));
  EXPECT_TRUE(turned.is_contiguous());
  EXPECT_EQ(turned.to_vector(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(MemoryOrder, RowsAreCountedWhateverTheirWidth) {
  EXPECT_EQ(row_count({2, 3, 4}), 6);
  EXPECT_EQ(row_count({2, 3, 0}), 6);
  EXPECT_EQ(row_count({0, 4}), 0);
  EXPECT_EQ(row_count({4}), 1);
  EXPECT_EQ(matrix_of(zeros({2, 3, 0})).shape(), (Shape{6, 0}));
  EXPECT_EQ(matrix_of(zeros({5})).shape(), (Shape{1, 5}));
}

}  // namespace
}  // namespace halftone
