// SPDX-License-Identifier: Apache-2.0
//
// Every code of every narrow row against the oracle, and the encoder wherever a rounding decision changes.
#include "halftone/conversion.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "format/oracle.h"

namespace halftone {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string name_of(const testing::TestParamInfo<Format>& info) { return std::string(info.param.name); }

class NarrowRow : public testing::TestWithParam<Format> {
 protected:
  const Format& row() const { return GetParam(); }
  std::uint64_t codes() const { return std::uint64_t{1} << row().bits(); }
};

TEST_P(NarrowRow, EveryCodeHasTheValueOfTheDefinition) {
  for (std::uint64_t code = 0; code < codes(); ++code) {
    const double value = decode(row(), code), expected = oracle::value_of(row(), code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << code;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected)) << code;
    }
  }
}

TEST_P(NarrowRow, EveryCodeSurvivesDecodingAndEncoding) {
  for (std::uint64_t code = 0; code < codes(); ++code) {
    const double value = decode(row(), code);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(decode(row(), encode(row(), value)))) << code;
    } else {
      ASSERT_EQ(encode(row(), value), code);
    }
  }
}

TEST_P(NarrowRow, ValuesAscendWithTheirCodes) {
  const std::uint64_t sign = codes() / 2;
  for (std::uint64_t code = 0; code + 1 < sign && !std::isnan(decode(row(), code + 1)); ++code) {
    ASSERT_LT(decode(row(), code), decode(row(), code + 1));
    ASSERT_EQ(decode(row(), sign | (code + 1)), -decode(row(), code + 1));
  }
}

TEST_P(NarrowRow, TheNearestCodeIsChosenAtEveryMiddleAndOnBothSidesOfIt) {
  const oracle::Thresholds table(row());
  const auto check = [&](double value) {
    ASSERT_TRUE(table.accepts(value, encode(row(), value))) << value;
    ASSERT_TRUE(table.accepts(-value, encode(row(), -value))) << -value;
  };
  const auto check_around = [&](double value) {
    check(value);
    check(std::nextafter(value, 0.0));  // a double apart: rounding through float32 would not see it
    check(std::nextafter(value, kInf));
    const auto single = static_cast<float>(value);
    check(std::nextafter(single, 0.0f));
    check(std::nextafter(single, std::numeric_limits<float>::infinity()));
  };
  for (double middle : table.middles()) ASSERT_NO_FATAL_FAILURE(check_around(middle));
  for (double value : table.values()) ASSERT_NO_FATAL_FAILURE(check_around(value));
  for (double value : {0.0, kInf, kNan, 1e300, 5e-324, 0x1.fffffep127, 0x1p-149}) check(value);
}

TEST_P(NarrowRow, TheNearestCodeIsChosenOverTheWholeRangeOfFloat32) {
  const oracle::Thresholds table(row());
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 32771) {
    const double value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    ASSERT_TRUE(table.accepts(value, encode(row(), value))) << value;
  }
}

TEST_P(NarrowRow, LimitsAreThoseOfTheEnumeratedValues) {
  const std::vector<double> values = oracle::Thresholds(row()).values();
  EXPECT_EQ(max_finite(row()), values[values.size() - 2]);
  EXPECT_EQ(min_subnormal(row()), values[1]);
  EXPECT_EQ(min_normal(row()), values[std::size_t{1} << row().mantissa_bits]);
  const auto above_one = std::upper_bound(values.begin(), values.end() - 1, 1.0);
  if (std::binary_search(values.begin(), values.end() - 1, 1.0)) {
    EXPECT_EQ(epsilon(row()), *above_one - 1);
  }
}

TEST_P(NarrowRow, SpecialValuesGoWhereTheHeaderSays) {
  const std::uint64_t sign = codes() / 2;
  const double largest = max_finite(row());
  const double over = decode(row(), encode(row(), 1e300)), under = decode(row(), encode(row(), -1e300));
  const double nan = decode(row(), encode(row(), kNan));
  EXPECT_EQ(encode(row(), kInf), encode(row(), 1e300));
  if (row().specials == Specials::ieee) {
    EXPECT_EQ(over, kInf);
    EXPECT_EQ(under, -kInf);
  } else if (row().specials == Specials::none) {
    EXPECT_EQ(over, largest);
    EXPECT_EQ(under, -largest);
  } else {
    EXPECT_TRUE(std::isnan(over));
    EXPECT_TRUE(std::isnan(under));
  }
  if (has_nan(row())) {
    EXPECT_TRUE(std::isnan(nan));
  } else {
    EXPECT_EQ(encode(row(), kNan), 0u);
    EXPECT_EQ(encode(row(), -kNan), 0u);
  }
  EXPECT_EQ(encode(row(), -0.0), row().specials == Specials::nan_zero ? 0 : sign);
}

INSTANTIATE_TEST_SUITE_P(Format, NarrowRow, testing::ValuesIn(oracle::narrow_rows()), name_of);

TEST(Codec, Float32AgreesWithTheProcessor) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto code = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(code);
    if (std::isnan(value)) continue;
    ASSERT_EQ(decode(float32.format(), code), static_cast<double>(value));
    ASSERT_EQ(encode(float32.format(), value), code);
    const auto wide = std::bit_cast<double>(random());  // mostly out of range
    const double near = value + value * std::ldexp(static_cast<double>(random() >> 11), -77);
    for (double x : {wide, near}) {
      if (std::isnan(x)) continue;
      ASSERT_EQ(encode(float32.format(), x), std::bit_cast<std::uint32_t>(static_cast<float>(x))) << x;
    }
  }
}

TEST(Codec, Float64PassesEveryBitThrough) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t code = random();
    ASSERT_EQ(std::bit_cast<std::uint64_t>(decode(float64.format(), code)), code);
    ASSERT_EQ(encode(float64.format(), std::bit_cast<double>(code)), code);
  }
  EXPECT_EQ(encode(float64.format(), std::bit_cast<double>(std::uint64_t{0x7FF0000000000001})),
            0x7FF0000000000001);
}

TEST(Codec, ARowAsWideAsDoubleButShiftedGoesThroughTheGeneralPath) {
  static constexpr Format kShifted = {"e11m40", 11, 40, 1023, Specials::ieee};
  EXPECT_EQ(decode(kShifted, 1), 0x1p-1062);
  EXPECT_EQ(encode(kShifted, 0x1p-1062), 1u);
  EXPECT_EQ(encode(kShifted, 0x1p-1063), 0u);    // a tie, to even
  EXPECT_EQ(encode(kShifted, 0x1.8p-1062), 2u);  // a tie, to even
  EXPECT_EQ(encode(kShifted, 0x1p-1074), 0u);
  EXPECT_EQ(max_finite(kShifted), 0x1.ffffffffffp1023);
  EXPECT_EQ(decode(kShifted, encode(kShifted, std::numeric_limits<double>::max())), kInf);
}

TEST(Codec, IntegersRoundToNearestEvenAndSaturate) {
  const auto round_trip = [](DType dtype, double x) {
    return decode(dtype.format(), encode(dtype.format(), x));
  };
  for (double x = -300; x < 600; x += 0.25) {
    const double even = std::nearbyint(x);
    ASSERT_EQ(round_trip(uint8, x), std::clamp(even, 0.0, 255.0)) << x;
    ASSERT_EQ(round_trip(int32, x), even) << x;
    ASSERT_EQ(round_trip(int64, x), even) << x;
  }
  EXPECT_EQ(round_trip(int32, 1e30), 2147483647.0);
  EXPECT_EQ(round_trip(int32, -1e30), -2147483648.0);
  EXPECT_EQ(round_trip(int32, 2147483647.5), 2147483647.0);
  EXPECT_EQ(round_trip(int32, -2147483648.5), -2147483648.0);
  EXPECT_EQ(round_trip(uint8, kInf), 255.0);
  EXPECT_EQ(encode(int64.format(), kInf), 0x7FFFFFFFFFFFFFFF);
  EXPECT_EQ(encode(int64.format(), 0x1p63), 0x7FFFFFFFFFFFFFFF);
  EXPECT_EQ(encode(int64.format(), -0x1p63), 0x8000000000000000);
  EXPECT_EQ(encode(int64.format(), -kInf), 0x8000000000000000);
  EXPECT_EQ(encode(int64.format(), 0x1.fffffffffffffp62), 0x7FFFFFFFFFFFFC00);
  for (DType dtype : {uint8, int32, int64}) {
    EXPECT_EQ(encode(dtype.format(), kNan), 0u);
    EXPECT_EQ(encode(dtype.format(), -0.0), 0u);
    EXPECT_EQ(encode(dtype.format(), 5e-324), 0u);
  }
}

TEST(Codec, EveryIntegerOfANarrowRowSurvives) {
  static constexpr Format kInt8 = {"int8", 0, 7, 0, Specials::integer};
  static constexpr Format kUint4 = {"uint4", 0, 4, 0, Specials::integer, false};
  for (int i = -128; i < 128; ++i) {
    ASSERT_EQ(decode(kInt8, static_cast<std::uint8_t>(i)), i);
    ASSERT_EQ(encode(kInt8, i), static_cast<std::uint8_t>(i));
  }
  for (unsigned i = 0; i < 16; ++i) {
    ASSERT_EQ(decode(kUint4, i), i);
    ASSERT_EQ(encode(kUint4, i), i);
  }
  EXPECT_EQ(encode(kUint4, 15.5), 15u);
  EXPECT_EQ(encode(kInt8, -128.5), 0x80u);
}

TEST(Codec, Int64BeyondTheSignificandOfDoubleRoundsToNearestEven) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const auto n = static_cast<std::int64_t>(random()) >> (i % 60);
    ASSERT_EQ(decode(int64.format(), static_cast<std::uint64_t>(n)), static_cast<double>(n));
  }
}

// float32 and narrower first would round twice; these values differ when it does.
TEST(Codec, RoundsOnceFromDouble) {
  const auto half = [](double x) { return encode(float16.format(), x); };
  EXPECT_EQ(half(1 + 0x1p-11 + 0x1p-40), 0x3C01u);
  EXPECT_EQ(half(static_cast<float>(1 + 0x1p-11 + 0x1p-40)), 0x3C00u);
  EXPECT_EQ(half(0x1p-14 - 0x1p-25 - 0x1p-65), 0x03FFu);
  EXPECT_EQ(half(static_cast<double>(0x1FFDFFFFFF) * 0x1p-26), 0x67FFu);
  EXPECT_EQ(decode(float16.format(), half(1025.49995)), 1025);
  const double x = 1 + 0x1p-4 + 0x1p-9;
  EXPECT_EQ(decode(float8_e4m3fn.format(), encode(float8_e4m3fn.format(), x)), 1.125);
  EXPECT_EQ(decode(float8_e4m3fn.format(),
                   encode(float8_e4m3fn.format(), decode(bfloat16.format(), encode(bfloat16.format(), x)))),
            1.0);
}

TEST(Codec, KeepsTheSignAndTheLeadingPayloadOfNaN) {
  EXPECT_EQ(encode(float16.format(), kNan), 0x7E00u);
  EXPECT_EQ(encode(float16.format(), -kNan), 0xFE00u);
  EXPECT_EQ(encode(bfloat16.format(), std::bit_cast<double>(std::uint64_t{0x7FF0000000000001})), 0x7FC0u);
  EXPECT_EQ(encode(bfloat16.format(), std::bit_cast<double>(std::uint64_t{0xFFF2000000000000})), 0xFFD0u);
  EXPECT_EQ(encode(float8_e4m3fn.format(), kNan), 0x7Fu);
  EXPECT_EQ(encode(float8_e4m3fn.format(), -kNan), 0xFFu);
  EXPECT_EQ(encode(float8_e5m2.format(), kNan), 0x7Eu);
}

TEST(Codec, DoesNotDependOnTheRoundingModeOfTheProcessor) {
  volatile double tie = 1 + 0x1p-11, above = 1 + 0x1p-11 + 0x1p-30;
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(mode);
    const std::uint64_t at_tie = encode(float16.format(), tie), at_above = encode(float16.format(), above);
    const double large = decode(int64.format(), 0x7FFFFFFFFFFFFFFF);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(at_tie, 0x3C00u);
    EXPECT_EQ(at_above, 0x3C01u);
    EXPECT_EQ(large, 0x1p63);
  }
}

#if defined(__FLT16_MAX__) && !defined(__clang__)
// g++'s own half precision, converted in software from double in one step.
__extension__ typedef _Float16 Half;

TEST(Codec, Float16AgreesWithTheCompiler) {
  const auto check = [](double x) {
    const auto expected = static_cast<Half>(x);
    ASSERT_EQ(encode(float16.format(), x), std::bit_cast<std::uint16_t>(expected)) << x;
  };
  std::mt19937_64 random(4);
  for (int i = 0; i < 300000; ++i) {
    const std::uint64_t bits = random();
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double exponent = static_cast<double>(bits >> 32) * 0x1p-32 * 50 - 30;
    const double near = std::ldexp(1 + static_cast<double>(bits >> 12) * 0x1p-52, static_cast<int>(exponent));
    if (!std::isnan(single)) {
      ASSERT_NO_FATAL_FAILURE(check(single));
    }
    ASSERT_NO_FATAL_FAILURE(check(near));
  }
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const double expected = std::bit_cast<Half>(static_cast<std::uint16_t>(code));
    const double value = decode(float16.format(), code);
    ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << code;
  }
}
#endif

}  // namespace
}  // namespace halftone
