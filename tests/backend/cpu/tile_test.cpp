// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/tile.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/support.h"

namespace halftone::cpu {
namespace {

using namespace halftone::testing;

TEST(Block, IsContiguousWhenItsElementsFollowEachOther) {
  EXPECT_TRUE(contiguous_block(3, 4).is_contiguous());
  EXPECT_TRUE((Block{1, 4, 99, 1}).is_contiguous());
  EXPECT_TRUE((Block{5, 1, 1, 99}).is_contiguous());
  EXPECT_FALSE((Block{3, 4, 5, 1}).is_contiguous());
  EXPECT_FALSE((Block{1, 4, 0, 2}).is_contiguous());
  EXPECT_FALSE((Block{1, 4, 0, 0}).is_contiguous());
}

TEST(LoadBlock, ContiguousFloatsAreNotCopied) {
  const Tensor x = ones({8});
  float tile[8];
  EXPECT_EQ(load_block(float32, x.raw(), contiguous_block(2, 4), tile), x.raw());
}

TEST(LoadBlock, TakesBroadcastAndStridedBlocksOfAnyFormat) {
  for (const Format& format : kFormats) {
    const DType dtype(&format);
    const Tensor x = from_values({0, 1, 2, 3, 4, 5, 6, 7}, dtype);
    float tile[kTile];
    const auto stored = x.to_vector();  // 5 is not a float4
    const auto at = [&](std::initializer_list<std::size_t> elements) {
      std::vector<float> values;
      for (std::size_t i : elements) values.push_back(static_cast<float>(stored[i]));
      return values;
    };
    const auto same = [](const float* values, const std::vector<float>& expected) {
      return std::memcmp(values, expected.data(), expected.size() * sizeof(float)) == 0;
    };
    const float* strided = load_block(dtype, x.raw(), {2, 3, 1, 2}, tile);
    EXPECT_TRUE(same(strided, at({0, 2, 4, 1, 3, 5}))) << format.name;
    const float* repeated = load_block(dtype, advance(x.raw(), dtype, 5), {2, 2, 1, 0}, tile);
    EXPECT_TRUE(same(repeated, at({5, 5, 6, 6}))) << format.name;
  }
}

TEST(StoreBlock, WritesTheBlockAndNothingElse) {
  for (const Format& format : kFormats) {
    const DType dtype(&format);
    if (!format.has_zero) continue;
    const Tensor x = zeros({8}, dtype);
    const float values[] = {1, 0.5f, 1.5f, 1};
    const auto stored = [&](double value) {
      return decode(format, encode(format, value));
    };  // integers: 0.5 is 0
    store_block(dtype, advance(x.raw_mutable(), dtype, 1), {2, 2, 1, 3}, values);
    EXPECT_EQ(x.to_vector(),
              (std::vector<double>{0, stored(1), stored(1.5), 0, stored(0.5), stored(1), 0, 0}))
        << format.name;
  }
}

TEST(MoveCodes, TransposesBlocksOfEverySize) {
  for (const std::int64_t rows : {1, 5, 32, 33, 70})
    for (const std::int64_t columns : {1, 31, 64, 65}) {
      std::vector<std::uint16_t> from(static_cast<std::size_t>(rows * columns)), to(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint16_t>(i);
      move_codes(2, from.data(), {rows, columns, 1, rows}, to.data(), contiguous_block(rows, columns));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(to[static_cast<std::size_t>(r * columns + c)], c * rows + r) << rows << " x " << columns;
    }
}

}  // namespace
}  // namespace halftone::cpu
