// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ops.h"
#include "halftone/tensor.h"

namespace halftone {
namespace {

TEST(Tensor, CopiesAndViewsShareStorageAndVersion) {
  Tensor a = zeros({2, 3});
  const Tensor copy = a, view = a.detach(), column = slice(a, 1, 1, 2);
  const auto version = a.version();
  a.mutable_data<float>()[1] = 5;
  EXPECT_GT(copy.version(), version);
  EXPECT_EQ(view.version(), a.version());
  EXPECT_EQ(column.to_vector(), (std::vector<double>{5, 0}));
}

TEST(Tensor, TypedAccessMustMatchTheFormat) {
  const Tensor a = ones({2}, float16);
  EXPECT_EQ(a.data<std::uint16_t>()[0], 0x3C00);
  EXPECT_THROW(a.data<float>(), DTypeError);
  EXPECT_THROW(a.data<std::uint8_t>(), DTypeError);
  EXPECT_THROW(ones({2}, int32).data<float>(), DTypeError);
  EXPECT_THROW(ones({2}, float32).data<std::int32_t>(), DTypeError);
}

TEST(Tensor, ItemNeedsExactlyOneElement) {
  EXPECT_EQ(full({1, 1}, 2.5).item(), 2.5);
  EXPECT_THROW(zeros({2}).item(), ShapeError);
  EXPECT_THROW(zeros({0}).item(), ShapeError);
}

TEST(Tensor, NegativeSizesAreAnError) { EXPECT_THROW(zeros({2, -1}), ShapeError); }

TEST(Tensor, WithoutElementsMayHaveStridesThatNoNumberHolds) {
  const std::int64_t size = 0xFFFFFFFF;
  const Tensor nothing({0, size, size, size}, uint8);
  EXPECT_EQ(nothing.count(), 0);
  EXPECT_TRUE(nothing.is_contiguous());
}

TEST(Tensor, SizesWhoseProductNoNumberHoldsAreAnError) {
  EXPECT_THROW(zeros({std::int64_t{1} << 61}, float64), ShapeError);  // 2^64 bytes, which is 0 in 64 bits
  EXPECT_THROW(zeros({std::int64_t{1} << 32, std::int64_t{1} << 32}, uint8), ShapeError);
  EXPECT_THROW(zeros({std::int64_t{1} << 62}, uint8), ShapeError);
}

TEST(Tensor, ValuesAreReadThroughStrides) {
  const Tensor t = transpose(from_values(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}), 0, 1);
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.to_vector(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(ones({1, 5}).is_contiguous());
}

TEST(Tensor, IsUniqueOnlyWhileNobodyElseSeesTheBytes) {
  Tensor a = zeros({3});
  EXPECT_TRUE(a.is_unique());
  {
    const Tensor b = a.detach();
    EXPECT_FALSE(a.is_unique());
  }
  EXPECT_TRUE(a.is_unique());
  const Tensor handle = a;
  EXPECT_FALSE(a.is_unique());
}

}  // namespace
}  // namespace halftone
