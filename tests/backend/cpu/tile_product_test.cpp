// SPDX-License-Identifier: Apache-2.0
//
// Sums of small whole numbers are exact, whatever the order: equality with a plain loop.
#include "backend/cpu/tile_product.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/support.h"

namespace halftone::cpu {
namespace {

TEST(TileProduct, IsThePlainLoop) {
  constexpr std::int64_t kRows = 7, kColumns = 5, kInner = 9, kStride = 8;
  for (const DType dtype : {float32, product_format(bfloat16, bfloat16)})
    for (const bool across_a : {false, true})
      for (const bool across_b : {false, true})
        for (const bool accumulate : {false, true}) {
          const Tensor a = testing::quarters({20, 20}, dtype, 1), b = testing::quarters({20, 20}, dtype, 2);
          const TileOperand left{a.raw(), 20, 1}, right{b.raw(), 20, 1};
          const std::vector<double> x = a.to_vector(), y = b.to_vector();
          std::vector<float> c(kRows * kStride, 3);
          tile_product(dtype, kRows, kColumns, kInner, across_a ? left.transposed() : left,
                       across_b ? right.transposed() : right, c.data(), kStride, accumulate);
          for (std::int64_t i = 0; i < kRows; ++i)
            for (std::int64_t j = 0; j < kStride; ++j) {
              double sum = j >= kColumns || accumulate ? 3 : 0;
              for (std::int64_t m = 0; m < kInner && j < kColumns; ++m)
                sum += x[static_cast<std::size_t>(across_a ? m * 20 + i : i * 20 + m)] *
                       y[static_cast<std::size_t>(across_b ? j * 20 + m : m * 20 + j)];
              EXPECT_EQ(c[static_cast<std::size_t>(i * kStride + j)], sum) << i << ", " << j;
            }
        }
}

}  // namespace
}  // namespace halftone::cpu
