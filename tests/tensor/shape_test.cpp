// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/tensor.h"

namespace halftone {
namespace {

TEST(Shape, CountsElementsAndPrintsItself) {
  EXPECT_EQ((Shape{2, 3, 4}).count(), 24);
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ((Shape{2, 0}).count(), 0);
  EXPECT_EQ(to_string(Shape{128, 784}), "(128, 784)");
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ((Shape{2, 3, 4})[-1], 4);
}

TEST(Shape, RefusesMoreThanSixDimensions) { EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), ShapeError); }

TEST(Shape, RowMajorStrides) { EXPECT_EQ(contiguous_strides({2, 3, 4}), (Shape{12, 4, 1})); }

TEST(Shape, AStrideThatNoNumberHoldsIsZero) {
  const std::int64_t size = 0xFFFFFFFF;  // squared it is more than 2^63
  EXPECT_EQ(contiguous_strides({0, size, size, size}), (Shape{0, 0, size, 1}));
  EXPECT_EQ(contiguous_strides({size, size, size, 0}), (Shape{0, 0, 0, 1}));
}

TEST(Shape, BroadcastFollowsNumpy) {
  EXPECT_EQ(broadcast({4, 1, 3}, {2, 1}), (Shape{4, 2, 3}));
  EXPECT_EQ(broadcast({}, {5}), (Shape{5}));
  EXPECT_EQ(broadcast({0}, {1}), (Shape{0}));
  EXPECT_THROW(broadcast({2}, {3}), ShapeError);
  EXPECT_THROW(broadcast({2, 3}, {2}), ShapeError);
}

}  // namespace
}  // namespace halftone
