// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

TEST(Median, IsInTheMiddleOrBetweenTheTwoThatAre) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({1, 2}), 1.5);
  EXPECT_EQ(median({10, 1, 4, 2}), 3);
  EXPECT_EQ(median({5, 5, 5, 5}), 5);
}

}  // namespace
}  // namespace halftone
