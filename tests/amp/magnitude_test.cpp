// SPDX-License-Identifier: Apache-2.0
#include "amp/magnitude.h"

#include <gtest/gtest.h>

#include <cmath>

#include "amp/support.h"
#include "halftone/simd.h"

namespace halftone::amp {
namespace {

TEST(Magnitude, IsTheLargestFiniteOneWhereverItIs) {
  for (const std::int64_t count : {1, 15, 16, 1023, 1025, 16385, 40000})
    for (const DType dtype : {float32, bfloat16, float16}) {
      std::vector<double> values(static_cast<std::size_t>(count), 0.5);
      for (const std::size_t at : {std::size_t{0}, values.size() / 2, values.size() - 1}) {
        values[at] = -3;
        EXPECT_EQ(largest_magnitude(from_values(values, {count}, dtype)), 3) << count << " " << at;
        values[at] = 0.5;
      }
    }
}

TEST(Magnitude, PassesOverWhatIsNotFinite) {
  EXPECT_EQ(largest_magnitude(from_values({kInf, -kInf, kNan, -kNan, -2, 1})), 2);
  EXPECT_EQ(largest_magnitude(from_values({kInf, kNan})), 0);
  EXPECT_EQ(largest_magnitude(zeros({0})), 0);
  EXPECT_EQ(largest_magnitude(from_values({3.0e38, 0x1p-149})), static_cast<float>(3.0e38));
}

}  // namespace
}  // namespace halftone::amp
