// SPDX-License-Identifier: Apache-2.0
//
// Every code of every row of at most 16 bits, and of tfloat32, against the definition in exact rationals; the
// limits and the numbers of codes that follow from a row. How values become codes is in conversion_test.cpp.
#include "halftone/format_codec.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <random>
#include <set>

#include "format/each_row.h"
#include "format/exact_oracle.h"

namespace halftone {
namespace {

using Kind = Exact::Kind;

std::vector<Format> rows_and_tfloat32() {
  std::vector<Format> rows = oracle::rows();
  rows.push_back(tfloat32.format());
  return rows;
}

class EveryCode : public RowTest {
 protected:
  std::uint64_t codes() const { return std::uint64_t{1} << row().bits(); }
};

TEST_F(EveryCode, HasTheValueOfTheDefinition) {
  mpq_class magnitude, decoded;
  each_row(rows_and_tfloat32(), [&] {
    for (std::uint64_t code = 0; code < codes(); ++code) {
      const oracle::Meaning expected = oracle::meaning_of(row(), code);
      const Exact exactly = decode_exact(row(), code);
      const double value = decode(row(), code);
      ASSERT_EQ(static_cast<int>(exactly.kind), static_cast<int>(expected.kind)) << code;
      ASSERT_EQ(std::isnan(value), exactly.kind == Kind::nan) << code;
      ASSERT_EQ(std::isinf(value), exactly.kind == Kind::infinity) << code;
      ASSERT_EQ(exactly.negative, expected.negative) << code;
      ASSERT_FALSE(exactly.more) << code;
      if (!expected.is_finite()) continue;
      oracle::set(magnitude, expected.n, expected.exponent);
      oracle::set(decoded, exactly.n, exactly.exponent);
      ASSERT_TRUE(decoded == magnitude) << code;
      ASSERT_TRUE(magnitude == std::fabs(value)) << code;
      ASSERT_EQ(std::signbit(value), expected.negative) << code;
    }
  });
}

TEST_F(EveryCode, SurvivesDecodingAndEncoding) {
  each_row(rows_and_tfloat32(), [&] {
    const Conversion conversion = default_conversion(row());
    for (std::uint64_t code = 0; code < codes(); ++code) {
      const double value = decode(row(), code);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(decode(row(), encode(row(), value)))) << code;
      } else if (conversion.overflow == Overflow::to_special || !std::isinf(value)) {
        ASSERT_EQ(encode(row(), value), code);
        ASSERT_EQ(encode(row(), decode_exact(row(), code), conversion), code);
      }
    }
  });
}

TEST_F(EveryCode, BitsAboveThoseOfTheFormatAreIgnored) {
  each_row(rows_and_tfloat32(), [&] {
    for (std::uint64_t code = 0; code < codes(); code += codes() / 16 + 1)
      ASSERT_EQ(decode_exact(row(), code | codes() * 5), decode_exact(row(), code)) << code;
  });
}

TEST_F(EveryCode, LimitsAreThoseOfTheEnumeratedValues) {
  each_row(rows_and_tfloat32(), [&] {
    std::set<double> positive;
    bool infinity = false, nan = false, negative_zero = false;
    for (std::uint64_t code = 0; code < codes(); ++code) {
      const double value = oracle::value_of(row(), code);
      infinity = infinity || std::isinf(value);
      nan = nan || std::isnan(value);
      negative_zero = negative_zero || (value == 0 && std::signbit(value));
      if (value > 0 && std::isfinite(value)) positive.insert(value);
    }
    EXPECT_EQ(max_finite(row()), *positive.rbegin());
    EXPECT_EQ(min_subnormal(row()), *positive.begin());
    EXPECT_EQ(has_infinity(row()), infinity);
    EXPECT_EQ(has_nan(row()), nan);
    EXPECT_EQ(has_negative_zero(row()), negative_zero);
    const bool has_normals = row().specials != Specials::integer && row().has_zero;
    EXPECT_EQ(min_normal(row()), has_normals ? std::ldexp(1.0, 1 - row().bias) : *positive.begin());
    const auto one = positive.find(1.0);
    if (one != positive.end() && std::next(one) != positive.end()) {
      EXPECT_EQ(epsilon(row()), *std::next(one) - 1);
    }
  });
}

// How many codes are finite, infinite, NaN and zero, from the documents named in format.h.
struct Count {
  std::string_view name;
  int finite, infinite, nan, zero, distinct;
};
constexpr Count kCounts[] = {
    {"tfloat32", 522240, 2, 2046, 2, 522239}, {"float16", 63488, 2, 2046, 2, 63487},
    {"bfloat16", 65280, 2, 254, 2, 65279},    {"float8_e5m2", 248, 2, 6, 2, 247},
    {"float8_e4m3fn", 254, 0, 2, 2, 253},     {"float8_e4m3", 240, 2, 14, 2, 239},
    {"float8_e3m4", 224, 2, 30, 2, 223},      {"float8_e5m2fnuz", 255, 0, 1, 1, 255},
    {"float8_e4m3fnuz", 255, 0, 1, 1, 255},   {"float8_e4m3b11fnuz", 255, 0, 1, 1, 255},
    {"float6_e3m2fn", 64, 0, 0, 2, 63},       {"float6_e2m3fn", 64, 0, 0, 2, 63},
    {"float4_e2m1fn", 16, 0, 0, 2, 15},       {"float8_e8m0fnu", 255, 0, 1, 0, 255},
    {"fixed8m6", 256, 0, 0, 1, 256},          {"binary8p4se", 253, 2, 1, 1, 253},
    {"binary8p3se", 253, 2, 1, 1, 253},       {"binary8p3sf", 255, 0, 1, 1, 255},
    {"binary8p1ue", 254, 1, 1, 1, 254},       {"binary8p1uf", 255, 0, 1, 1, 255},
    {"binary6p3sf", 63, 0, 1, 1, 63},         {"binary4p2sf", 15, 0, 1, 1, 15},
    {"binary16p11se", 65533, 2, 1, 1, 65533}, {"binary16p8se", 65533, 2, 1, 1, 65533},
};

TEST(Codec, HasAsManyCodesOfEachKindAsTheDocumentsSay) {
  for (const Count& row : kCounts) {
    const Format& format = find_dtype(row.name).format();
    Count counted{row.name, 0, 0, 0, 0, 0};
    std::set<double> values;
    for (std::uint64_t code = 0; code >> format.bits() == 0; ++code) {
      const double value = decode(format, code);
      counted.infinite += std::isinf(value) ? 1 : 0;
      counted.nan += std::isnan(value) ? 1 : 0;
      counted.zero += value == 0 ? 1 : 0;
      counted.finite += std::isfinite(value) ? 1 : 0;
      if (std::isfinite(value)) values.insert(value);
    }
    EXPECT_EQ(counted.finite, row.finite) << row.name;
    EXPECT_EQ(counted.infinite, row.infinite) << row.name;
    EXPECT_EQ(counted.nan, row.nan) << row.name;
    EXPECT_EQ(counted.zero, row.zero) << row.name;
    EXPECT_EQ(static_cast<int>(values.size()), row.distinct) << row.name;
  }
}

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

TEST(Codec, ADoubleTakenApartIsTheDouble) {
  std::mt19937_64 random(6);
  mpq_class number;
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(i % 8 == 0 ? random() & 0x800FFFFFFFFFFFFFu : random());
    if (std::isnan(value)) continue;
    const Exact x = exact(value);
    ASSERT_EQ(x.negative, std::signbit(value));
    ASSERT_EQ(detail::nearest_double(x), value);
    if (std::isfinite(value)) {
      oracle::set(number, x.n, x.exponent);
      ASSERT_TRUE(number == std::fabs(value)) << value;
    }
  }
}

// Numbers of 64 bits at any exponent, subnormal doubles included: mpfr_get_d rounds once.
TEST(Codec, TheNearestDoubleOfAnExactNumberIsTheOneOfMpfr) {
  std::mt19937_64 random(7);
  mpfr_t number;
  mpfr_init2(number, 64);
  for (int i = 0; i < 200000; ++i) {
    const int bits = 1 + static_cast<int>(random() % 64);
    std::uint64_t n = random() >> (64 - bits);
    if (i % 3 == 0 && bits > 54) n = (n >> (bits - 54) | 1) << (bits - 54);  // a tie
    const int exponent = static_cast<int>(random() % 2300) - 1200;
    mpfr_set_ui_2exp(number, n, exponent, MPFR_RNDN);
    ASSERT_EQ(detail::nearest_double({Kind::finite, false, n, exponent}), mpfr_get_d(number, MPFR_RNDN))
        << n << " * 2^" << exponent;
  }
  mpfr_clear(number);
}

TEST(Codec, ARowAsWideAsDoubleButShiftedGoesThroughTheGeneralPath) {
  static constexpr Format kShifted = {"e11m40", 11, 40, 1023, Specials::ieee};
  EXPECT_EQ(decode(kShifted, 1), 0x1p-1062);
  EXPECT_EQ(encode(kShifted, 0x1p-1062), 1u);
  EXPECT_EQ(encode(kShifted, 0x1p-1063), 0u);    // a tie, to even
  EXPECT_EQ(encode(kShifted, 0x1.8p-1062), 2u);  // a tie, to even
  EXPECT_EQ(encode(kShifted, 0x1p-1074), 0u);
  EXPECT_EQ(max_finite(kShifted), 0x1.ffffffffffp1023);
  EXPECT_TRUE(std::isinf(decode(kShifted, encode(kShifted, std::numeric_limits<double>::max()))));
}

TEST(Codec, Int64BeyondTheSignificandOfDoubleRoundsToNearestEven) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const auto n = static_cast<std::int64_t>(random()) >> (i % 60);
    ASSERT_EQ(decode(int64.format(), static_cast<std::uint64_t>(n)), static_cast<double>(n));
  }
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
