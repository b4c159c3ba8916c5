// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(Reshape, OneSizeMayBeLeftOpen) {
  EXPECT_EQ(reshape(ones({2, 6}), {-1, 4}).shape(), (Shape{3, 4}));
  EXPECT_EQ(reshape(zeros({0, 6}), {-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(reshape(ones({}), {-1}).shape(), (Shape{1}));
  EXPECT_THROW(reshape(ones({2, 6}), {5, -1}), ShapeError);
}

TEST(Reshape, NoOtherSizeIsNegative) {
  for (const Shape& shape : {Shape{-2, -6}, {-1, -1}, {-1, -12}, {-3, -4, -1}, {12, -1, -1}})
    EXPECT_THROW(reshape(ones({2, 6}), shape), ShapeError) << to_string(shape);
}

TEST(Reshape, ASizeBesideZeroCanNotBeLeftOpen) {
  try {
    reshape(zeros({0, 6}), {0, -1});
    FAIL() << "any size would do";
  } catch (const ShapeError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("[reshape] (0, 6) to (0, -1); expected no size -1 beside a 0", 0),
              0U)
        << e.what();
  }
}

TEST(Reshape, FlatteningKeepsTheWidthOfAnEmptyBatch) {
  EXPECT_EQ(flatten(zeros({0, 28, 28, 1})).shape(), (Shape{0, 784}));
  EXPECT_EQ(flatten(ones({3, 2, 2})).shape(), (Shape{3, 4}));
  EXPECT_EQ(flatten(ones({3})).shape(), (Shape{3, 1}));
}

}  // namespace
}  // namespace halftone
