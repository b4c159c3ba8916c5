// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/comm.h"

namespace halftone::comm {
namespace {

using ::testing::ElementsAre;

TEST(SingleProcess, IsRankZeroOfOne) {
  EXPECT_EQ(rank(), 0);
  EXPECT_EQ(size(), 1);
  barrier();
}

TEST(SingleProcess, TheMeanOfOneRankIsTheTensorItself) {
  const Tensor tensor = from_values({1, -2, 3});
  all_reduce_mean(tensor);
  EXPECT_THAT(tensor.to_vector(), ElementsAre(1, -2, 3));
}

TEST(SingleProcess, NarrowTensorsAreNotSummed) {
  EXPECT_THROW(all_reduce_mean(zeros({2}, bfloat16)), DTypeError);
  EXPECT_THROW(all_reduce_mean(zeros({2}, float64)), DTypeError);
}

TEST(SingleProcess, AFlagIsItsOwnConsensus) {
  EXPECT_TRUE(any(true));
  EXPECT_FALSE(any(false));
}

}  // namespace
}  // namespace halftone::comm
