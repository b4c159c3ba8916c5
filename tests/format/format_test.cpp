// SPDX-License-Identifier: Apache-2.0
//
// The table: names, published limits, promotion; and the arithmetic facts that make short formats hard to
// train in, which later floors rely on.
#include "halftone/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "format/oracle.h"

namespace halftone {
namespace {

// IEEE 754-2019, OCP 8-bit Floating Point Specification 1.0, OCP Microscaling Formats 1.0.
constexpr bool has_limits(const Format& f, double largest, double normal, double subnormal, double step) {
  return max_finite(f) == largest && min_normal(f) == normal && min_subnormal(f) == subnormal &&
         epsilon(f) == step;
}
static_assert(has_limits(float64.format(), 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 0x1p-52));
static_assert(has_limits(float32.format(), 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1p-23));
static_assert(has_limits(float16.format(), 65504, 0x1p-14, 0x1p-24, 0x1p-10));
static_assert(has_limits(bfloat16.format(), 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7));
static_assert(has_limits(float8_e4m3fn.format(), 448, 0x1p-6, 0x1p-9, 0.125));
static_assert(has_limits(float8_e5m2.format(), 57344, 0x1p-14, 0x1p-16, 0.25));
static_assert(has_limits({"float8_e4m3", 4, 3, 7, Specials::ieee}, 240, 0x1p-6, 0x1p-9, 0.125));
static_assert(has_limits({"float8_e3m4", 3, 4, 3, Specials::ieee}, 15.5, 0.25, 0x1p-6, 0x1p-4));
static_assert(has_limits({"float8_e5m2fnuz", 5, 2, 16, Specials::nan_zero}, 57344, 0x1p-15, 0x1p-17, 0.25));
static_assert(has_limits({"float8_e4m3fnuz", 4, 3, 8, Specials::nan_zero}, 240, 0x1p-7, 0x1p-10, 0.125));
static_assert(has_limits({"float8_e4m3b11fnuz", 4, 3, 11, Specials::nan_zero}, 30, 0x1p-10, 0x1p-13, 0.125));
static_assert(has_limits({"float6_e3m2fn", 3, 2, 3, Specials::none}, 28, 0.25, 0.0625, 0.25));
static_assert(has_limits({"float6_e2m3fn", 2, 3, 1, Specials::none}, 7.5, 1, 0.125, 0.125));
static_assert(has_limits({"float4_e2m1fn", 2, 1, 1, Specials::none}, 6, 1, 0.5, 0.5));
static_assert(has_limits({"tf32", 8, 10, 127, Specials::ieee}, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10));
static_assert(has_limits(int32.format(), 2147483647, 1, 1, 1));
static_assert(has_limits(uint8.format(), 255, 1, 1, 1));
static_assert(max_finite(int64.format()) == 0x1p63);  // 2^63 - 1, rounded to double

// The encoder runs at compile time too.
static_assert(encode(float16.format(), 1.0) == 0x3C00 && decode(float16.format(), 0xC000) == -2);
static_assert(encode(float8_e4m3fn.format(), 464) == 0x7E && encode(float8_e4m3fn.format(), 464.1) == 0x7F);
static_assert(encode(float16.format(), 65519.99) == 0x7BFF && encode(float16.format(), 65520) == 0x7C00);

TEST(Format, WidthsFollowFromTheRow) {
  const auto widths = [](DType d) {
    return std::vector<int>{d.format().bits(), d.bytes(), d.format().precision()};
  };
  EXPECT_EQ(widths(float64), (std::vector{64, 8, 53}));
  EXPECT_EQ(widths(float32), (std::vector{32, 4, 24}));
  EXPECT_EQ(widths(float16), (std::vector{16, 2, 11}));
  EXPECT_EQ(widths(bfloat16), (std::vector{16, 2, 8}));
  EXPECT_EQ(widths(float8_e4m3fn), (std::vector{8, 1, 4}));
  EXPECT_EQ(widths(float8_e5m2), (std::vector{8, 1, 3}));
  EXPECT_EQ(int64.bytes(), 8);
  EXPECT_EQ(int32.bytes(), 4);
  EXPECT_EQ(uint8.bytes(), 1);
  EXPECT_FALSE(uint8.format().is_signed);
  EXPECT_TRUE(int32.format().is_signed);
  EXPECT_EQ((Format{"float4_e2m1fn", 2, 1, 1, Specials::none}).bits(), 4);
}

TEST(Format, TwoFormatsPromoteToTheSmallestThatHoldsBoth) {
  EXPECT_EQ(promote(float16, float16), float16);
  EXPECT_EQ(promote(float16, bfloat16), float32);
  EXPECT_EQ(promote(float16, float32), float32);
  EXPECT_EQ(promote(float64, bfloat16), float64);
  EXPECT_EQ(promote(float8_e4m3fn, float8_e5m2), float16);
  EXPECT_EQ(promote(float8_e5m2, float16), float16);
  EXPECT_EQ(promote(float8_e4m3fn, bfloat16), bfloat16);
  EXPECT_EQ(promote(uint8, int32), int32);
  EXPECT_EQ(promote(int32, int64), int64);
  EXPECT_EQ(promote(uint8, bfloat16), bfloat16);
  EXPECT_EQ(promote(uint8, float8_e4m3fn), float16);
  EXPECT_EQ(promote(int32, float32), float64);
  EXPECT_EQ(promote(int64, float32), float64);  // nothing holds both
  EXPECT_EQ(promote(tfloat32, float16), tfloat32);
  EXPECT_EQ(promote(tfloat32, bfloat16), tfloat32);
  EXPECT_EQ(promote(tfloat32, float32), float32);
  EXPECT_EQ(promote(float8_e8m0fnu, bfloat16), bfloat16);  // whose subnormals include 2^-127
  EXPECT_EQ(promote(float8_e8m0fnu, float16), float32);
  EXPECT_EQ(promote(find_dtype("fixed8m6"), float8_e4m3fn), float16);
  EXPECT_EQ(promote(find_dtype("fixed8m6"), bfloat16), bfloat16);
  EXPECT_EQ(promote(float4_e2m1fn, float6_e2m3fn), float6_e2m3fn);
  EXPECT_EQ(promote(float6_e3m2fn, float6_e2m3fn).bytes(), 1);
  EXPECT_EQ(promote(find_dtype("int4"), float6_e2m3fn), float8_e4m3fn);  // which has -8 too
  EXPECT_EQ(promote(find_dtype("int8"), uint8), float16);
}

TEST(Format, PromotionIsSymmetricAndHoldsEveryValue) {
  const std::vector<Format> rows = oracle::rows();
  for (const Format& a : rows) {
    for (const Format& b : rows) {
      const DType both = promote(DType(&a), DType(&b));
      ASSERT_EQ(both.format().bits(), promote(DType(&b), DType(&a)).format().bits());
      for (const Format* f : {&a, &b}) {
        if (f->bits() > 8) continue;
        for (std::uint64_t code = 0; code < std::uint64_t{1} << f->bits(); ++code) {
          const double x = decode(*f, code), y = decode(both.format(), encode(both.format(), x));
          ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << a.name << " " << b.name << " " << x;
        }
      }
    }
  }
}

TEST(Format, ARowOfTheProgramItselfTakesPartInPromotion) {
  static constexpr Format kE5m7 = {"e5m7", 5, 7, 15, Specials::ieee};
  static constexpr Format kE2m1 = {"float4_e2m1fn", 2, 1, 1, Specials::none};
  EXPECT_EQ(promote(DType(&kE5m7), float8_e5m2), DType(&kE5m7));
  EXPECT_EQ(promote(DType(&kE5m7), float16), float16);
  EXPECT_EQ(promote(DType(&kE2m1), float8_e4m3fn), float8_e4m3fn);
  EXPECT_EQ(DType(&kE5m7).bytes(), 2);
}

TEST(Format, CodesAreStoredAndLoadedOneByOne) {
  for (const Format& row : kFormats) {
    const DType dtype(&row);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(3 * row.bytes() + 1), 0xEE);
    const std::uint64_t code = 0x8182838485868788u >> (64 - row.bits());
    store_code(dtype, bytes.data() + 1, 1, code);  // not aligned
    EXPECT_EQ(load_code(dtype, bytes.data() + 1, 1), code) << row.name;
    for (int i = 0; i < row.bytes(); ++i) {
      EXPECT_EQ(bytes[static_cast<std::size_t>(1 + i)], 0xEE);
      EXPECT_EQ(bytes[static_cast<std::size_t>(1 + 2 * row.bytes() + i)], 0xEE);
    }
  }
}

double round_to(const Format& f, double x) { return decode(f, encode(f, x)); }
double round_to(DType dtype, double x) { return round_to(dtype.format(), x); }

TEST(ShortFormats, HaveHalfTheSpacingBelowAPowerOfTwo) {
  EXPECT_EQ(encode(float16.format(), 1 - 0x1p-12), 0x3C00u);
  EXPECT_EQ(round_to(float16, 1 - 0x1p-12 - 0x1p-40), 0.99951171875);
  EXPECT_EQ(round_to(float16, 1 + 0x1p-11), 1.0);
  EXPECT_EQ(round_to(float16, 1 + 0x1p-11 + 0x1p-30), 1.0009765625);
}

double subtract(DType dtype, double step, int times) {
  double w = 1;
  for (int i = 0; i < times; ++i) w = round_to(dtype, w - step);
  return w;
}

TEST(ShortFormats, LoseUpdatesSmallerThanHalfTheirSpacing) {
  EXPECT_EQ(subtract(float16, 0x1p-12, 1000), 1.0);
  EXPECT_EQ(subtract(float32, 0x1p-12, 1000), 0.755859375);
  EXPECT_EQ(subtract(float16, 0x1p-11, 1000), 0.51171875);
  EXPECT_EQ(subtract(bfloat16, round_to(bfloat16, 1e-3), 1000), 1.0);
  EXPECT_EQ(subtract(bfloat16, round_to(bfloat16, 3e-3), 100), 0.609375);
}

struct Stall {
  double sum;
  int terms;
};

Stall running_sum(const Format& f, double term) {
  term = round_to(f, term);
  for (Stall stall{0, 0};; ++stall.terms) {
    const double next = round_to(f, stall.sum + term);
    if (next == stall.sum) return stall;
    stall.sum = next;
  }
}

TEST(ShortFormats, StallWhenTheySumOnes) {
  EXPECT_EQ(running_sum(float16.format(), 1).sum, 2048);
  EXPECT_EQ(running_sum(bfloat16.format(), 1).sum, 256);
  EXPECT_EQ(running_sum(float8_e4m3fn.format(), 1).sum, 16);
  EXPECT_EQ(running_sum(float8_e5m2.format(), 1).sum, 8);
  EXPECT_EQ(running_sum({"float4_e2m1fn", 2, 1, 1, Specials::none}, 1).sum, 4);
}

TEST(ShortFormats, StallWhenTheySumSmallTerms) {
  const auto expect = [](DType dtype, double term, double sum, int terms) {
    const Stall stall = running_sum(dtype.format(), term);
    EXPECT_EQ(stall.sum, sum) << dtype.name() << " " << term;
    EXPECT_EQ(stall.terms, terms) << dtype.name() << " " << term;
  };
  expect(float16, 0.1, 256, 2207);
  expect(float16, 0.01, 32, 2798);
  expect(float16, 0.001, 4, 3070);
  expect(bfloat16, 0.1, 32, 276);
  expect(bfloat16, 0.01, 4, 350);
  expect(bfloat16, 0.001, 0.5, 383);
}

TEST(ShortFormats, FlushSmallGradientsAndHyperparameters) {
  EXPECT_EQ(round_to(float16, 0x1p-25), 0.0);
  EXPECT_EQ(round_to(float16, std::nextafter(0x1p-25, 1)), 0x1p-24);
  EXPECT_EQ(round_to(float16, 1e-8), 0.0);  // the epsilon of Adam
  EXPECT_NEAR(round_to(bfloat16, 1e-8), 1.00117e-8, 1e-13);
  EXPECT_EQ(encode(float16.format(), 1e-7), 2u);
  EXPECT_NEAR(round_to(float16, 1e-6), 1.01328e-6, 1e-11);
  EXPECT_EQ(round_to(float16, std::pow(1.726e-4, 2)), 0.0);
  EXPECT_NE(round_to(float16, std::pow(1.728e-4, 2)), 0.0);
  EXPECT_NEAR(round_to(float16, 0.999), 0.99902344, 1e-8);
  EXPECT_EQ(round_to(bfloat16, 0.999), 1.0);
  EXPECT_EQ(round_to(bfloat16, 0.998), 0.99609375);
  EXPECT_EQ(round_to(bfloat16, 0.95), 0.94921875);
  EXPECT_EQ(round_to(bfloat16, 0.9), 0.8984375);
  EXPECT_EQ(round_to(float16, 0.9999), 1.0);
}

TEST(ShortFormats, OverflowWhereTheArithmeticSays) {
  EXPECT_EQ(round_to(float16, 65504 + 15), 65504);
  EXPECT_TRUE(std::isinf(round_to(float16, 65504 + 16)));
  EXPECT_TRUE(std::isinf(round_to(float16, 256.0 * 256.0)));
  EXPECT_EQ(round_to(float16, 255.9 * 255.9), 65472);
  EXPECT_TRUE(std::isinf(round_to(float16, 65536)));  // the usual first loss scale
  EXPECT_EQ(round_to(float16, 1.5 * 32768), 49152);
  EXPECT_EQ(round_to(float16, -1e9), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(bfloat16, -1e9), -998244352);
  EXPECT_EQ(round_to(float16, -1e4), -10000);
  EXPECT_EQ(round_to(bfloat16, -1e4), -9984);
  EXPECT_EQ(round_to(bfloat16, -65504), -65536);
  EXPECT_TRUE(std::isinf(round_to(float16, std::exp(11.09012))));
  EXPECT_EQ(round_to(float16, std::exp(11.09010)), 65504);
  EXPECT_LT(round_to(float16, std::exp(-9.705)), 0x1p-14);
  EXPECT_EQ(round_to(float16, std::exp(-17.32869)), 0.0);
}

}  // namespace
}  // namespace halftone
