// SPDX-License-Identifier: Apache-2.0
//
// The exponential of attention against the one in double: all of bfloat16 and a stride of float32.
#include "backend/cpu/attention_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "backend/cpu/lanes.h"

namespace halftone::cpu {
namespace {

// In units in the last place of the exact value, for x from -126 to 0.
double error(float x) {
  const double exact = std::exp2(double{x}), unit = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(double{exp2_nonpositive(x)} - exact) / unit;
}

TEST(Exp2Nonpositive, IsWithinAUnitInTheLastPlace) {
  const auto least = std::bit_cast<std::uint32_t>(-126.0f);
  double worst = 0;
  for (std::uint32_t bits = 0x80000000; bits < least; bits += 613)
    worst = std::max(worst, error(std::bit_cast<float>(bits)));
  for (std::uint32_t code = 0x8000; code < least >> 16; ++code)
    worst = std::max(worst, error(Bfloat16Lane::load(static_cast<std::uint16_t>(code))));
  EXPECT_LE(worst, 1);
  EXPECT_GE(worst, 0.5) << "or the test measures nothing";
}

TEST(Exp2Nonpositive, EndsWhereItShould) {
  for (int n = 0; n >= -126; --n) EXPECT_EQ(exp2_nonpositive(static_cast<float>(n)), std::ldexp(1.0f, n));
  EXPECT_EQ(exp2_nonpositive(-0.0f), 1);
  for (const float x : {-127.0f, -128.0f, -1e4f, -3e38f, -INFINITY}) EXPECT_EQ(exp2_nonpositive(x), 0) << x;
  float last = 1;
  for (float x = 0; x > -129; x -= 0.01f) {  // falls, into the subnormal numbers too
    const float value = exp2_nonpositive(x);
    EXPECT_GE(value, 0);
    EXPECT_LE(value, last) << x;
    last = value;
  }
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fffffffu, 0x7fc00155u, 0xff800001u})
    EXPECT_TRUE(std::isnan(exp2_nonpositive(std::bit_cast<float>(bits)))) << bits;
}

TEST(StoreProduct, IsStoreOnWhatArithmeticMakes) {
  for (std::uint32_t bits = 0; bits < 0xfffffff0 - 4099; bits += 4099)
    if (const float value = std::bit_cast<float>(bits); !std::isnan(value)) {
      EXPECT_EQ(Bfloat16Lane::store_product(value), Bfloat16Lane::store(value)) << value;
    }
  for (std::uint32_t code = 0; code <= 0xffff; ++code) {  // NaNs of bfloat16
    const float value = Bfloat16Lane::load(static_cast<std::uint16_t>(code));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Bfloat16Lane::load(Bfloat16Lane::store_product(value)))) << code;
    }
  }
}

}  // namespace
}  // namespace halftone::cpu
