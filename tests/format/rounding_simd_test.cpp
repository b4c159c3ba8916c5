// SPDX-License-Identifier: Apache-2.0
//
// What the loops take; what they give is in rounding_test.cpp and block_rounder_test.cpp.
#include "format/rounding_simd.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "format/rounding_support.h"

namespace halftone {
namespace {

using namespace rounding_support;

TEST(RoundingLoops, CoverTheFormatsOfTheRecipes) {
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
    const Conversion c{rounding, Overflow::saturate};
    for (const DType dtype :
         {float8_e4m3fn, float8_e5m2, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, find_dtype("float8_e4m3")})
      EXPECT_TRUE(simd::Layout(dtype.format(), c).fits_rounding()) << dtype.name();
    EXPECT_FALSE(simd::Layout(find_dtype("fixed8m6").format(), c).fits_rounding());
    EXPECT_FALSE(simd::Layout(find_dtype("float8_e4m3fnuz").format(), c).fits_rounding());
  }
  EXPECT_FALSE(simd::Layout(float8_e5m2.format(), {}).fits_rounding());  // overflows to infinity
}

TEST(RoundingLoops, ReadAndWriteFloat32AndBfloat16) {
  EXPECT_TRUE(simd::reads_and_writes({float32, nullptr, bfloat16, nullptr}));
  EXPECT_FALSE(simd::reads_and_writes({float16, nullptr, bfloat16, nullptr}));
  EXPECT_FALSE(simd::reads_and_writes({bfloat16, nullptr, float16, nullptr}));
}

TEST(RoundingLoops, FindTheLargestMagnitudeWhereverItIs) {
  constexpr std::int64_t kBlocks = 32, kLength = 48;
  for (const bool across : {false, true})
    for (const DType dtype : {float32, bfloat16}) {
      const simd::Blocks blocks =
          across ? simd::Blocks{kBlocks, kLength, 1, kBlocks} : simd::Blocks{kBlocks, kLength, kLength, 1};
      for (std::int64_t at = 0; at < kLength; ++at) {
        std::vector<float> values(kBlocks * kLength, 0.5f);
        for (std::int64_t b = 0; b < kBlocks; ++b)
          values[static_cast<std::size_t>(b * blocks.next_block + at * blocks.next_element)] =
              b == 3 ? -kInf : static_cast<float>(-1 - b);
        std::vector<std::byte> codes(values.size() * 4);
        encode_row(dtype, values.data(), codes.data(), kBlocks * kLength);
        on_each_target([&] {
          std::vector<std::uint32_t> amax(kBlocks);
          simd::largest_magnitudes(dtype, codes.data(), blocks, amax.data());
          for (std::size_t b = 0; b < kBlocks; ++b)
            ASSERT_EQ(std::bit_cast<float>(amax[b]), b == 3 ? kInf : 1 + static_cast<float>(b));
        });
      }
    }
}

}  // namespace
}  // namespace halftone
