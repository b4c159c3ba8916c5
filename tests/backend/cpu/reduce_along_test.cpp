// SPDX-License-Identifier: Apache-2.0
//
// Sums and maxima of rows: the innermost dimension is reduced.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& cpu() { return find_backend("cpu"); }

// Lengths around the lanes, the tiles and the segments.
TEST(ReduceAlong, EveryElementCountsOnceAtEveryLength) {
  for (const std::int64_t length :
       {1, 2, 31, 32, 33, 63, 65, 1023, 1024, 1025, 65535, 65536, 65537, 140000}) {
    const Tensor x = empty({length}), sum = empty({1});
    auto* values = static_cast<float*>(x.raw_mutable());
    // Whole numbers below 256: any sum of up to 2^16 of them is exact in float32.
    std::int64_t expected = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      values[i] = static_cast<float>(i * i % 251);
      expected += i * i % 251;
    }
    cpu().reduce(Reduction::sum, x, sum);
    EXPECT_EQ(sum.item(), static_cast<double>(static_cast<float>(expected))) << length;
  }
}

TEST(ReduceAlong, TheErrorOfALongSumIsThatOfOneRounding) {
  const std::int64_t count = 1000003;
  const Tensor x = random_uniform({count}, 0, 1, 7, 0), sum = empty({1});
  const auto* values = x.data<float>();
  const double expected = std::accumulate(values, values + count, 0.0);
  cpu().reduce(Reduction::sum, x, sum);
  EXPECT_NEAR(sum.item(), expected, 1e-7 * expected);  // half a unit in the last place is 6e-8
}

TEST(ReduceAlong, ANaNAnywhereIsTheMaximum) {
  for (const DType dtype : {float32, bfloat16})
    for (const std::int64_t length : {5, 40, 1100})
      for (std::int64_t at = 0; at < length; ++at) {
        std::vector<double> values(static_cast<std::size_t>(length), 1.0);
        values.back() = INFINITY;
        values[static_cast<std::size_t>(at)] = NAN;
        const Tensor x = from_values(values, {length}, dtype), y = empty({1});
        cpu().reduce(Reduction::max, x, y);
        EXPECT_TRUE(std::isnan(y.item())) << dtype.name() << " length " << length << " at " << at;
      }
}

TEST(ReduceAlong, TheLargestIsFoundWhereverItIsAndNegative) {
  for (const std::int64_t length : {5, 40, 1100})
    for (std::int64_t at = 0; at < length; ++at) {
      std::vector<double> values(static_cast<std::size_t>(length), -3.0);
      values[static_cast<std::size_t>(at)] = -2;
      const Tensor x = from_values(values, {length}, float16), y = empty({1});
      cpu().reduce(Reduction::max, x, y);
      EXPECT_EQ(y.item(), -2) << "length " << length << " at " << at;
    }
}

}  // namespace
}  // namespace halftone
