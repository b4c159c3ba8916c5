// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/backend.h"

namespace halftone {
namespace {

const Backend& reference() { return find_backend("reference"); }

TEST(ReferenceCopy, FollowsStridesAndRounds) {
  const Tensor x = from_values({1, 2, 3, 300.5, 70000, -1}).view({3, 2}, {1, 3}, 0);
  const Tensor y = empty({3, 2}, float16);
  reference().copy(x, y);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1, 300.5, 2, INFINITY, 3, -1}));
}

TEST(ReferenceCopy, CodesOfOneFormatMoveUnchanged) {
  const Tensor x = empty({1}, float32), y = empty({1}, float32);
  *static_cast<std::uint32_t*>(x.raw_mutable()) = 0x7F800123;  // a signalling NaN with a payload
  reference().copy(x, y);
  EXPECT_EQ(*static_cast<const std::uint32_t*>(y.raw()), 0x7F800123U);
}

}  // namespace
}  // namespace halftone
