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

}  // namespace
}  // namespace halftone
