// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "halftone/backend.h"

namespace halftone {
namespace {

const Backend& reference() { return find_backend("reference"); }

constexpr Formula kScaledSum = formula<2>([](auto x, auto y, const auto* p) { return p[0] * x + y; });

TEST(ReferenceElementwise, InputsBroadcastToTheOutput) {
  const Tensor x = from_values({1, 2, 3}), y = from_values({10, 20}).view({2, 1}, {1, 1}, 0),
               sum = empty({2, 3});
  const double two = 2;
  reference().elementwise(kScaledSum, std::array{x, y}, sum, std::span(&two, 1));
  EXPECT_EQ(sum.to_vector(), (std::vector<double>{12, 14, 16, 22, 24, 26}));
}

TEST(ReferenceElementwise, ComputesInDoubleAndRoundsOnce) {
  const double one = 1;
  const Tensor x = full({1}, 1, float64), y = full({1}, 0x1p-40, float64), wide = empty({1}, float64);
  reference().elementwise(kScaledSum, std::array{x, y}, wide, std::span(&one, 1));
  EXPECT_EQ(wide.item(), 1 + 0x1p-40);
  // Just above the tie between 1 and the next float16; rounded to float32 first it would be the tie.
  const Tensor z = full({1}, 0x1p-11 + 0x1p-40, float64), narrow = empty({1}, float16);
  reference().elementwise(kScaledSum, std::array{x, z}, narrow, std::span(&one, 1));
  EXPECT_EQ(narrow.item(), 1 + 0x1p-10);
}

TEST(ReferenceElementwise, TheOutputMayBeAnInput) {
  const double three = 3;
  const Tensor x = from_values({1, 2}, bfloat16);
  reference().elementwise(kScaledSum, std::array{x, x}, x, std::span(&three, 1));
  EXPECT_EQ(x.to_vector(), (std::vector<double>{4, 8}));
}

}  // namespace
}  // namespace halftone
