// SPDX-License-Identifier: Apache-2.0
//
// Every rounding and policy at every value, every midpoint and their neighbours, a double apart and a float
// apart, against MPFR; and the choices that conversion.h states, in concrete numbers. Stochastic rounding is
// in stochastic_test.cpp.
#include "halftone/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <random>

#include "format/each_row.h"
#include "format/exact_oracle.h"
#include "halftone/error.h"

namespace halftone {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Rounding kRoundings[] = {Rounding::nearest_even,    Rounding::nearest_away,
                                   Rounding::toward_zero,     Rounding::toward_positive,
                                   Rounding::toward_negative, Rounding::to_odd};
constexpr Overflow kOverflows[] = {Overflow::to_special, Overflow::saturate, Overflow::keep_infinity};

std::vector<Conversion> every_conversion() {
  std::vector<Conversion> all;
  for (Rounding rounding : kRoundings)
    for (Overflow overflow : kOverflows)
      for (Subnormals subnormals : {Subnormals::keep, Subnormals::flush})
        for (NegativeZero zero : {NegativeZero::keep, NegativeZero::drop})
          for (MissingNan nan : {MissingNan::zero, MissingNan::largest})
            all.push_back({rounding, overflow, subnormals, zero, nan});
  return all;
}

class EveryConversion : public RowTest {
 protected:
  void check(double magnitude, const std::vector<Conversion>& conversions) {
    for (double x : {magnitude, -magnitude})
      for (const Conversion& c : conversions) {
        const std::uint64_t code = encode(row(), x, c);
        ASSERT_TRUE(oracle_->accepts(x, c, code))
            << describe(c) << ": " << std::hexfloat << x << " became " << code;
      }
  }

  void check_around(double value, const std::vector<Conversion>& conversions) {
    const auto single = static_cast<float>(value);
    check(value, conversions);
    check(std::nextafter(value, 0.0), conversions);  // rounding through float32 would not see it
    check(std::nextafter(value, kInf), conversions);
    check(std::nextafter(single, 0.0f), conversions);
    check(std::nextafter(single, std::numeric_limits<float>::infinity()), conversions);
  }

  void round_as_mpfr_does();

  std::optional<oracle::Converter> oracle_;
};

void EveryConversion::round_as_mpfr_does() {
  oracle_.emplace(row());
  static const std::vector<Conversion> all = every_conversion();
  std::vector<Conversion> roundings, overflows;
  for (Rounding rounding : kRoundings) roundings.push_back({.rounding = rounding});
  for (const Conversion& c : all)
    if (c == Conversion{.rounding = c.rounding, .overflow = c.overflow}) overflows.push_back(c);
  const bool narrow = row().bits() <= 8;
  const bool every = narrow || row() == float16.format() || row() == bfloat16.format();
  const oracle::Thresholds& table = oracle_->table();
  const std::size_t count = table.middles().size(), normal = std::size_t{1} << row().mantissa_bits;
  for (std::size_t i = 0; i < count; ++i) {
    const bool border = i < 3 || i + 3 > count || (i + 2 > normal && i < normal + 2);
    if (!every && !border && i % 11 != 0) continue;
    const std::vector<Conversion>& conversions = border ? all : narrow ? overflows : roundings;
    check_around(table.values()[i], conversions);
    check_around(table.middles()[i], conversions);
    if (HasFatalFailure()) return;
  }
  check_around(table.values()[count], all);  // the one beyond the largest
  for (double x : {0.0, kInf, kNan, 1e300, 5e-324, 0x1.fffffep127, 0x1p-149, 0x1p1000}) check(x, all);
}

TEST_F(EveryConversion, RoundsEveryValueAndMiddleAsMpfrDoes) {
  each_row(oracle::rows(), [&] { round_as_mpfr_does(); });
}

TEST_F(EveryConversion, TheDefaultIsNearestEvenWithTheOverflowOfTheRow) {
  each_row(oracle::rows(), [&] {
    const oracle::Thresholds table(row());
    std::vector<double> values = {0.0, kInf, kNan, 1e300};
    for (std::uint64_t bits = 0; bits < 0x7F800000; bits += 104729)
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (double value : values)
      for (double x : {value, -value}) {
        ASSERT_TRUE(table.accepts(x, encode(row(), x))) << x;
        ASSERT_EQ(encode(row(), x), encode(row(), x, default_conversion(row()))) << x;
      }
  });
}

std::uint64_t code_of(std::string_view name, double x, const Conversion& c) {
  return encode(find_dtype(name).format(), x, c);
}
std::uint64_t code_of(std::string_view name, double x) { return encode(find_dtype(name).format(), x); }
double became(std::string_view name, double x) { return decode(find_dtype(name).format(), code_of(name, x)); }
double became(std::string_view name, double x, const Conversion& c) {
  return decode(find_dtype(name).format(), code_of(name, x, c));
}

TEST(Conversion, OverflowIsDecidedOnTheRoundedValue) {
  EXPECT_EQ(code_of("float16", 65519.996), 0x7BFFu);
  EXPECT_EQ(code_of("float16", 65520), 0x7C00u);
  EXPECT_EQ(code_of("float16", 70000), 0x7C00u);
  EXPECT_EQ(code_of("float16", 70000, {.rounding = Rounding::toward_zero}), 0x7BFFu);
  EXPECT_EQ(became("float8_e5m2", 61439), 57344);
  EXPECT_EQ(became("float8_e5m2", 61440), kInf);
  EXPECT_EQ(became("float8_e4m3fn", 464), 448);
  EXPECT_TRUE(std::isnan(became("float8_e4m3fn", 464.00003)));
  EXPECT_TRUE(std::isnan(became("float8_e4m3fnuz", 248)));
  EXPECT_EQ(became("binary8p4se", 232), 224);
  EXPECT_EQ(became("binary8p4se", 232.1), kInf);
  EXPECT_EQ(became("binary8p4sf", 1e9), 240);  // P3109: finite formats clamp, but for infinity
  EXPECT_TRUE(std::isnan(became("binary8p4sf", kInf)));
}

TEST(Conversion, HalfOfTheSmallestNumberIsATieToZero) {
  EXPECT_EQ(code_of("float16", 0x1p-25), 0u);
  EXPECT_EQ(code_of("float16", std::nextafter(0x1p-25, 1)), 1u);
  EXPECT_EQ(code_of("float16", 0x1p-25, {.rounding = Rounding::nearest_away}), 1u);
  EXPECT_EQ(code_of("float16", 5e-324, {.rounding = Rounding::toward_positive}), 1u);
  EXPECT_EQ(code_of("float16", -5e-324, {.rounding = Rounding::toward_positive}), 0x8000u);
  EXPECT_EQ(code_of("float16", -5e-324, {.rounding = Rounding::to_odd}), 0x8001u);
}

// The columns of the table in docs/formats.md that a policy reproduces.
TEST(Conversion, OverflowToSpecialSaturateAndKeepInfinityAreThreePolicies) {
  const Conversion to_special, saturate{.overflow = Overflow::saturate},
      keep{.overflow = Overflow::keep_infinity};
  for (double sign : {1.0, -1.0}) {
    for (double x : {1e6 * sign, kInf * sign}) {
      EXPECT_TRUE(std::isnan(became("float8_e4m3fn", x, to_special)));
      EXPECT_EQ(became("float8_e4m3fn", x, saturate), 448 * sign);
      EXPECT_EQ(became("float8_e5m2", x, to_special), kInf * sign);
      EXPECT_EQ(became("float8_e5m2", x, saturate), 57344 * sign);
      EXPECT_TRUE(std::isnan(became("float8_e4m3fnuz", x, to_special)));
      EXPECT_EQ(became("float8_e4m3fnuz", x, saturate), 240 * sign);
      for (const Conversion& c : {to_special, saturate, keep})
        EXPECT_EQ(became("float4_e2m1fn", x, c), 6 * sign);
    }
    EXPECT_EQ(became("float8_e5m2", 1e6 * sign, keep), 57344 * sign);
    EXPECT_EQ(became("float8_e5m2", kInf * sign, keep), kInf * sign);
    EXPECT_EQ(became("float8_e4m3fn", 1e6 * sign, keep), 448 * sign);
    EXPECT_TRUE(std::isnan(became("float8_e4m3fn", kInf * sign, keep)));
  }
}

TEST(Conversion, NaNWhereThereIsNoneIsZeroOrTheLargest) {
  const Conversion largest{.missing_nan = MissingNan::largest};
  for (std::string_view name :
       {"float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn", "fixed8m6", "int32", "uint8"}) {
    EXPECT_EQ(code_of(name, kNan), 0u) << name;
    EXPECT_EQ(code_of(name, -kNan), 0u) << name;
    EXPECT_EQ(became(name, kNan, largest), max_finite(find_dtype(name).format())) << name;
  }
}

TEST(Conversion, NaNKeepsItsSignAndLeadingPayload) {
  EXPECT_EQ(code_of("float16", kNan), 0x7E00u);
  EXPECT_EQ(code_of("float16", -kNan), 0xFE00u);
  EXPECT_EQ(code_of("bfloat16", std::bit_cast<double>(std::uint64_t{0x7FF0000000000001})), 0x7FC0u);
  EXPECT_EQ(code_of("bfloat16", std::bit_cast<double>(std::uint64_t{0xFFF2000000000000})), 0xFFD0u);
  EXPECT_EQ(code_of("float8_e4m3fn", kNan), 0x7Fu);
  EXPECT_EQ(code_of("float8_e4m3fn", -kNan), 0xFFu);
  EXPECT_EQ(code_of("float8_e5m2", kNan), 0x7Eu);
  EXPECT_EQ(code_of("float8_e4m3fnuz", -kNan), 0x80u);
  EXPECT_EQ(code_of("float8_e8m0fnu", -kNan), 0xFFu);
}

TEST(Conversion, NegativeZeroIsKeptWhereThereIsOne) {
  EXPECT_EQ(code_of("float16", -0.0), 0x8000u);
  EXPECT_EQ(code_of("float16", -0.0, {.negative_zero = NegativeZero::drop}), 0u);
  EXPECT_EQ(code_of("float16", -1e-9, {.negative_zero = NegativeZero::drop}), 0u);
  for (std::string_view name :
       {"float8_e4m3fnuz", "float8_e5m2fnuz", "binary8p4se", "binary8p3sf", "int8", "fixed8m6"}) {
    EXPECT_EQ(code_of(name, -0.0), 0u) << name;
    EXPECT_EQ(code_of(name, -1e-30), 0u) << name;
  }
}

TEST(Conversion, FlushingComparesTheUnroundedValueWithTheSmallestNormal) {
  const Conversion flush{.subnormals = Subnormals::flush};
  EXPECT_EQ(code_of("float16", 0x1p-14, flush), 0x0400u);
  EXPECT_EQ(code_of("float16", std::nextafter(0x1p-14, 0.0), flush), 0u);  // though it would round to 2^-14
  EXPECT_EQ(code_of("float16", -0x1p-24, flush), 0x8000u);
  EXPECT_EQ(code_of("fixed8m6", 0x1p-6, flush), 1u);  // has no subnormals
}

TEST(Conversion, AScaleOfEightExponentBitsHasNeitherZeroNorSign) {
  const Conversion saturate{.overflow = Overflow::saturate}, up{.rounding = Rounding::toward_positive};
  for (double x : {0.0, -0.0, -1.0, -kInf, -1e-300, kNan, kInf}) {
    EXPECT_EQ(code_of("float8_e8m0fnu", x), 0xFFu) << x;
    if (!std::isnan(x)) {
      EXPECT_EQ(code_of("float8_e8m0fnu", x, saturate), x == kInf ? 0xFEu : 0u) << x;
    }
  }
  EXPECT_EQ(became("float8_e8m0fnu", 1.5), 2);  // ties go to the even code: 0.75 down, 1.5 up, 3 down
  EXPECT_EQ(became("float8_e8m0fnu", 0.75), 0.5);
  EXPECT_EQ(became("float8_e8m0fnu", 3), 2);
  EXPECT_EQ(became("float8_e8m0fnu", 1.0000001, up), 2);
  EXPECT_EQ(became("float8_e8m0fnu", 0x1p-127), 0x1p-127);
  EXPECT_EQ(code_of("float8_e8m0fnu", 5e-324), 0u);
  EXPECT_EQ(code_of("float8_e8m0fnu", 0x1.8p127), 0xFEu);  // the tie goes down
  EXPECT_EQ(code_of("float8_e8m0fnu", 0x1.9p127), 0xFFu);
}

TEST(Conversion, NegativeNumbersInAFormatWithoutASign) {
  const Conversion saturate{.overflow = Overflow::saturate};
  EXPECT_TRUE(std::isnan(became("ue5m3", -1)));
  EXPECT_EQ(became("ue5m3", -1, saturate), 0);
  EXPECT_EQ(became("ue5m3", -0.0), 0);
  EXPECT_EQ(became("ue5m3", -0x1p-30), 0);  // rounds to zero first
  EXPECT_EQ(became("ue5m3", 0x1p15), 0x1p15);
  EXPECT_EQ(became("uint8", -kInf), 0);
}

TEST(Conversion, FixedPointReachesMinusTwoAndSaturates) {
  EXPECT_EQ(code_of("fixed8m6", -2), 0x80u);
  EXPECT_EQ(became("fixed8m6", 2), 1.984375);
  EXPECT_EQ(became("fixed8m6", kInf), 1.984375);
  EXPECT_EQ(became("fixed8m6", -kInf), -2);
  EXPECT_EQ(became("fixed8m6", 0x1p-7), 0);  // ties to even
  EXPECT_EQ(became("fixed8m6", 0x3p-7), 0x1p-5);
  EXPECT_EQ(became("fixed8m6", 0x1p-7, {.rounding = Rounding::nearest_away}), 0x1p-6);
  EXPECT_EQ(became("fixed8m6", -1e-9, {.rounding = Rounding::toward_negative}), -0x1p-6);
  EXPECT_EQ(became("fixed8m6", 1e-9, {.rounding = Rounding::to_odd}), 0x1p-6);
}

TEST(Conversion, IntegersRoundToNearestEvenAndSaturate) {
  for (double x = -300; x < 600; x += 0.25) {
    const double even = std::nearbyint(x);
    ASSERT_EQ(became("uint8", x), std::clamp(even, 0.0, 255.0)) << x;
    ASSERT_EQ(became("int32", x), even) << x;
    ASSERT_EQ(became("int64", x), even) << x;
  }
  EXPECT_EQ(became("int32", 1e30), 2147483647.0);
  EXPECT_EQ(became("int32", -1e30), -2147483648.0);
  EXPECT_EQ(became("int32", 2147483647.5), 2147483647.0);
  EXPECT_EQ(became("int32", -2147483648.5), -2147483648.0);
  EXPECT_EQ(code_of("int64", kInf), 0x7FFFFFFFFFFFFFFF);
  EXPECT_EQ(code_of("int64", 0x1p63), 0x7FFFFFFFFFFFFFFF);
  EXPECT_EQ(code_of("int64", -0x1p63), 0x8000000000000000);
  EXPECT_EQ(code_of("int64", -kInf), 0x8000000000000000);
  EXPECT_EQ(code_of("int64", 0x1.fffffffffffffp62), 0x7FFFFFFFFFFFFC00);
  EXPECT_EQ(code_of("uint64", 0x1p64), 0xFFFFFFFFFFFFFFFF);
  EXPECT_EQ(code_of("uint64", 0x1.fffffffffffffp63), 0xFFFFFFFFFFFFF800);
}

// float32 and narrower first would round twice; these values differ when it does.
TEST(Conversion, RoundsOnceFromDouble) {
  EXPECT_EQ(code_of("float16", 1 + 0x1p-11 + 0x1p-40), 0x3C01u);
  EXPECT_EQ(code_of("float16", static_cast<float>(1 + 0x1p-11 + 0x1p-40)), 0x3C00u);
  EXPECT_EQ(code_of("float16", 0x1p-14 - 0x1p-25 - 0x1p-65), 0x03FFu);
  EXPECT_EQ(code_of("float16", static_cast<double>(0x1FFDFFFFFF) * 0x1p-26), 0x67FFu);
  EXPECT_EQ(became("float16", 1025.49995), 1025);
  const double x = 1 + 0x1p-4 + 0x1p-9;
  EXPECT_EQ(became("float8_e4m3fn", x), 1.125);
  EXPECT_EQ(became("float8_e4m3fn", became("bfloat16", x)), 1.0);
  EXPECT_EQ(became("float8_e4m3fn", became("bfloat16", x, {.rounding = Rounding::to_odd})), 1.125);
}

TEST(Conversion, RoundsOnceFromInt64) {
  const Conversion nearest;
  const oracle::Thresholds halves(float16.format()), brains(bfloat16.format());
  const auto check = [&](std::int64_t n) {
    const Exact x = decode_exact(int64.format(), static_cast<std::uint64_t>(n));
    const mpq_class magnitude = abs(mpq_class(static_cast<long>(n)));
    ASSERT_EQ(encode(float16.format(), x, nearest), halves.code_of(magnitude, n < 0)) << n;
    ASSERT_EQ(encode(bfloat16.format(), x, nearest), brains.code_of(magnitude, n < 0)) << n;
  };
  const std::int64_t above_a_tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1;
  check(above_a_tie);
  EXPECT_NE(encode(bfloat16.format(), decode_exact(int64.format(), static_cast<std::uint64_t>(above_a_tie)),
                   nearest),
            encode(bfloat16.format(), static_cast<double>(above_a_tie)));  // double loses the last 1
  std::mt19937_64 random(8);
  for (int i = 0; i < 20000 && !testing::Test::HasFatalFailure(); ++i) {
    const auto n = static_cast<std::int64_t>(random()) >> (i % 64);
    check(n);
    if (n > 1024)
      check((n & ~std::int64_t{0} << (std::bit_width(static_cast<std::uint64_t>(n)) - 9)) + i % 3 - 1);
  }
}

// To odd first, two bits further, never changes the second rounding.
TEST(Conversion, ToOddIsSafeToRoundAgain) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(random() % 60) - 30);
    const double odd = became("float32", x, {.rounding = Rounding::to_odd});
    ASSERT_EQ(code_of("bfloat16", odd), code_of("bfloat16", x)) << x;
    ASSERT_EQ(code_of("float8_e4m3fn", odd), code_of("float8_e4m3fn", x)) << x;
  }
}

TEST(Conversion, Float32RoundsAsTheProcessorDoesInEveryDirection) {
  constexpr std::pair<int, Rounding> kModes[] = {{FE_TONEAREST, Rounding::nearest_even},
                                                 {FE_TOWARDZERO, Rounding::toward_zero},
                                                 {FE_UPWARD, Rounding::toward_positive},
                                                 {FE_DOWNWARD, Rounding::toward_negative}};
  std::mt19937_64 random(10);
  for (int i = 0; i < 100000; ++i) {
    std::uint64_t bits = random();
    if (i % 2 == 0)
      bits = (bits & 0x800FFFFFFFFFFFFF) | (895 - 30 + bits % 290) << 52;  // in range, or nearly
    if (i % 4 == 0) bits = bits >> 28 << 28;                               // often a tie
    const volatile double x = std::bit_cast<double>(bits);
    if (std::isnan(x)) continue;
    for (const auto& mode : kModes) {
      std::fesetround(mode.first);
      const volatile float expected = static_cast<float>(x);
      std::fesetround(FE_TONEAREST);
      const float single = expected;
      ASSERT_EQ(encode(float32.format(), x, {.rounding = mode.second}), std::bit_cast<std::uint32_t>(single))
          << x;
    }
  }
}

TEST(Conversion, NamesAreReadBack) {
  for (Rounding rounding : kRoundings) EXPECT_EQ(parse_rounding(name(rounding)), rounding);
  EXPECT_EQ(parse_rounding("stochastic"), Rounding::stochastic);
  for (Overflow overflow : kOverflows) EXPECT_EQ(parse_overflow(name(overflow)), overflow);
  EXPECT_EQ(name(Rounding::to_odd), "to_odd");
  EXPECT_EQ(name(Overflow::keep_infinity), "keep_infinity");
  for (std::string_view bad : {"", "nearest", "to_special ", "Saturate"}) {
    EXPECT_THROW(parse_rounding(bad), ValueError);
    EXPECT_THROW(parse_overflow(bad), ValueError);
  }
  EXPECT_THAT(describe(Conversion{}),
              testing::HasSubstr("nearest_even, overflow to_special, subnormals kept"));
  EXPECT_THAT(describe({.rounding = Rounding::stochastic, .random_bits = 8}), testing::HasSubstr("8 bits"));
}

}  // namespace
}  // namespace halftone
