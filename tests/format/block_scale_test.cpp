// SPDX-License-Identifier: Apache-2.0
//
// The exponent of a scale from the largest magnitude, near every place where a rule changes its mind.
#include "format/block_scale.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace halftone {
namespace {

int exponent_of(const char* name, float amax) {
  const BlockFormat f = find_block_format(name);
  const auto bits = std::bit_cast<std::uint32_t>(amax);
  std::uint8_t code = 0;
  std::int32_t exponent = 0;
  float factor = 0;
  BlockScaler(f, 1)(&bits, 1, &code, &exponent, &factor);
  EXPECT_EQ(decode(f.scale.format(), code), std::ldexp(1.0, exponent));
  return exponent;
}

TEST(BlockScale, FloorChangesAtPowersOfTwo) {
  EXPECT_EQ(exponent_of("mxfp4", 4), 0);
  EXPECT_EQ(exponent_of("mxfp4", std::nextafter(4.0f, 0.0f)), -1);
  EXPECT_EQ(exponent_of("mxfp4", std::nextafter(8.0f, 0.0f)), 0);
  EXPECT_EQ(exponent_of("mxfp8_e4m3", 256), 0);
  EXPECT_EQ(exponent_of("mxfp8_e5m2", 32768), 0);
  EXPECT_EQ(exponent_of("mxfp6_e3m2", 16), 0);
  EXPECT_EQ(exponent_of("mxfp6_e2m3", 4), 0);
  EXPECT_EQ(exponent_of("mxint8", 1), 0);
}

TEST(BlockScale, CeilChangesJustAbovePowersOfTwo) {
  EXPECT_EQ(exponent_of("mxfp4:ceil", 4), 0);
  EXPECT_EQ(exponent_of("mxfp4:ceil", std::nextafter(4.0f, 9.0f)), 1);
}

TEST(BlockScale, RceilChangesJustAboveTheLargestElement) {
  EXPECT_EQ(exponent_of("mxfp4:rceil", 6), 0);
  EXPECT_EQ(exponent_of("mxfp4:rceil", std::nextafter(6.0f, 9.0f)), 1);
  EXPECT_EQ(exponent_of("mxfp8_e4m3:rceil", 448), 0);
  EXPECT_EQ(exponent_of("mxfp8_e4m3:rceil", std::nextafter(448.0f, 999.0f)), 1);
  EXPECT_EQ(exponent_of("mxint8:rceil", 127.0f / 64), 0);
  EXPECT_EQ(exponent_of("mxint8:rceil", std::nextafter(127.0f / 64, 9.0f)), 1);
}

TEST(BlockScale, EvenChangesWhereRoundingCarries) {
  EXPECT_EQ(exponent_of("mxfp4:even", std::nextafter(7.0f, 0.0f)), 0);
  EXPECT_EQ(exponent_of("mxfp4:even", 7), 1);
  EXPECT_EQ(exponent_of("mxfp8_e4m3:even", std::nextafter(496.0f, 0.0f)), 0);
  EXPECT_EQ(exponent_of("mxfp8_e4m3:even", 496), 1);
}

TEST(BlockScale, HoldsForEveryBinadeOfFloat32SubnormalOnesToo) {
  for (int exponent = -149; exponent < 128; ++exponent) {
    const float amax = std::ldexp(1.0f, exponent);
    EXPECT_EQ(exponent_of("mxfp4", amax), std::max(exponent - 2, -127));
    EXPECT_EQ(exponent_of("mxfp4:ceil", amax), std::max(exponent - 2, -127));
    EXPECT_EQ(exponent_of("mxfp4:rceil", amax), std::max(exponent - 2, -127));
  }
  EXPECT_EQ(exponent_of("mxfp4:even", std::numeric_limits<float>::max()), 126);
  EXPECT_EQ(exponent_of("mxfp4:ceil", 0x1.8p-149f * 2), std::max(-148 + 1 - 2, -127));
}

TEST(BlockScale, OfAnInfiniteOrNanBlockIsNone) {
  const BlockFormat f = find_block_format("mxfp4");
  for (std::uint32_t amax : {0x7F800000u, 0x7FC00000u, 0x7F800001u}) {
    std::uint8_t code = 0;
    std::int32_t exponent = 0;
    float factor = 0;
    BlockScaler(f, 1)(&amax, 1, &code, &exponent, &factor);
    EXPECT_EQ(exponent, BlockScaler::kNoScale);
    EXPECT_EQ(code, 0xFF);
  }
}

}  // namespace
}  // namespace halftone
