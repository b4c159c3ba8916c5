// SPDX-License-Identifier: Apache-2.0
//
// All 504 formats of IEEE P3109 (Interim Report 4.0, section 4): every code against the definition, in
// integers because most ranges exceed that of double; every midpoint rounded; and the tables that the group
// publishes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "golden/golden.h"
#include "halftone/conversion.h"

namespace halftone {
namespace {

using Kind = Exact::Kind;

struct P3109 {
  int bits, precision;
  bool is_signed, extended;
  std::string name() const {
    return fmt::format("binary{}p{}{}{}", bits, precision, is_signed ? 's' : 'u', extended ? 'e' : 'f');
  }
};

std::vector<P3109> all_formats() {
  std::vector<P3109> all;
  for (int bits = 3; bits <= 16; ++bits)
    for (int precision = 1; precision <= bits; ++precision)
      for (bool is_signed : {false, true})
        for (bool extended : {false, true})
          if (precision < bits || !is_signed) all.push_back({bits, precision, is_signed, extended});
  return all;
}

// (-1)^negative n 2^exponent: the definition of Decode, with the bias 2^(K-P-1), or 2^(K-P) without a sign.
Exact decode_by_definition(const P3109& f, long code) {
  const long codes = 1L << f.bits, half = codes / 2;
  if (code == (f.is_signed ? half : codes - 1)) return {Kind::nan, f.is_signed};
  if (f.is_signed && code > half) {
    Exact positive = decode_by_definition(f, code - half);
    positive.negative = true;
    return positive;
  }
  if (f.extended && code == (f.is_signed ? half - 1 : codes - 2)) return {Kind::infinity};
  const long bias = 1L << (f.bits - f.precision - (f.is_signed ? 1 : 0));
  const long scale = 1L << (f.precision - 1), trailing = code % scale, exponent = code / scale;
  const long n = exponent == 0 ? trailing : scale + trailing;
  const long unit = (exponent == 0 ? 1 : exponent) - bias - (f.precision - 1);
  return {Kind::finite, false, static_cast<std::uint64_t>(n), static_cast<int>(unit)};
}

// n 2^exponent with n odd, or zero.
Exact reduced(Exact x) {
  while (x.n != 0 && x.n % 2 == 0) x.n /= 2, ++x.exponent;
  if (x.n == 0) x.exponent = 0;
  x.payload = 0;
  return x;
}

double nearest_double(const Exact& x) {
  const double sign = x.negative ? -1 : 1;
  if (x.kind == Kind::infinity) return sign * std::numeric_limits<double>::infinity();
  return sign * std::ldexp(static_cast<double>(x.n), x.exponent);  // which rounds once, if at all
}

TEST(P3109, ThereAre504Formats) { EXPECT_EQ(all_formats().size(), 504u); }

TEST(P3109, EveryCodeHasTheValueOfTheDefinition) {
  long codes = 0;
  for (const P3109& row : all_formats()) {
    const Format& format = find_dtype(row.name()).format();
    ASSERT_EQ(format.bits(), row.bits) << row.name();
    ASSERT_EQ(format.precision(), row.precision) << row.name();
    for (long code = 0; code < 1L << row.bits; ++code, ++codes) {
      const Exact expected = decode_by_definition(row, code),
                  x = decode_exact(format, static_cast<std::uint64_t>(code));
      ASSERT_EQ(reduced(x), reduced(expected)) << row.name() << " " << code;
      const double value = decode(format, static_cast<std::uint64_t>(code));
      if (expected.kind == Kind::nan) {
        ASSERT_TRUE(std::isnan(value)) << row.name() << " " << code;
      } else {
        ASSERT_EQ(value, nearest_double(expected)) << row.name() << " " << code;
      }
    }
  }
  EXPECT_EQ(codes, 7602160);
}

TEST(P3109, EveryCodeSurvivesAndEveryMiddleGoesToTheEvenCode) {
  const Conversion c;
  for (const P3109& row : all_formats()) {
    const Format& format = find_dtype(row.name()).format();
    const auto end = static_cast<std::uint64_t>(row.is_signed ? 1L << (row.bits - 1) : (1L << row.bits) - 1);
    for (std::uint64_t code = 0; code < end; ++code) {
      const Exact x = decode_exact(format, code), next = decode_exact(format, code + 1);
      ASSERT_EQ(encode(format, x, c), code) << row.name();
      if (row.is_signed && code != 0) {
        Exact negative = x;
        negative.negative = true;
        ASSERT_EQ(encode(format, negative, c), end + code) << row.name();
      }
      if (x.kind != Kind::finite || next.kind != Kind::finite) continue;
      // The next value is one unit further: between them lies (2 n + 1) / 2.
      Exact middle{Kind::finite, false, 2 * x.n + 1, x.exponent - 1};
      ASSERT_EQ(encode(format, middle, c), code + code % 2) << row.name() << " " << code;
      middle.more = true;
      ASSERT_EQ(encode(format, middle, c), code + 1) << row.name() << " " << code;
      const Exact below{Kind::finite, false, 4 * x.n + 1, x.exponent - 2, true};
      ASSERT_EQ(encode(format, below, c), code) << row.name() << " " << code;
    }
  }
}

TEST(P3109, ThePublishedTablesHaveTheSameValues) {
  const auto tables = golden::read("p3109.txt");
  ASSERT_EQ(tables.size(), 5u);
  for (const auto& table : tables) {
    const Format& format = find_dtype(table.first).format();
    ASSERT_EQ(table.second.size(), std::size_t{1} << format.bits()) << table.first;
    for (std::size_t code = 0; code < table.second.size(); ++code) {
      const double value = decode(format, code), published = table.second[code];
      if (std::isnan(published)) {
        ASSERT_TRUE(std::isnan(value)) << table.first << " " << code;
      } else {
        ASSERT_EQ(value, published) << table.first << " " << code;
        ASSERT_EQ(std::signbit(value), std::signbit(published)) << table.first << " " << code;
      }
    }
  }
}

TEST(P3109, OneIsInTheMiddleOfThePositiveCodes) {
  for (const P3109& row : all_formats()) {
    const Format& format = find_dtype(row.name()).format();
    const std::uint64_t middle = std::uint64_t{1} << (row.bits - (row.is_signed ? 2 : 1));
    EXPECT_EQ(decode(format, middle), 1) << row.name();
  }
}

TEST(P3109, FiniteSignedFormatsOfEightBitsHaveTheCodesOfTheFnuzFormats) {
  EXPECT_TRUE(find_dtype("binary8p4sf").format().same_codes(find_dtype("float8_e4m3fnuz").format()));
  EXPECT_TRUE(find_dtype("binary8p3sf").format().same_codes(find_dtype("float8_e5m2fnuz").format()));
  EXPECT_EQ(max_finite(find_dtype("binary8p4se").format()), 224);
  EXPECT_EQ(max_finite(find_dtype("binary8p3se").format()), 49152);
  EXPECT_EQ(max_finite(find_dtype("binary8p1uf").format()), 0x1p126);
  EXPECT_EQ(max_finite(find_dtype("binary8p1ue").format()), 0x1p125);
}

// Beyond double on both sides.
TEST(P3109, AFormatOfOneBitOfPrecisionReachesToTheThirtyThousandthPowerOfTwo) {
  const Format& format = find_dtype("binary16p1uf").format();
  EXPECT_EQ(reduced(decode_exact(format, 1)), (Exact{Kind::finite, false, 1, -32767}));
  EXPECT_EQ(reduced(decode_exact(format, 0xFFFE)), (Exact{Kind::finite, false, 1, 32766}));
  EXPECT_EQ(decode(format, 1), 0);
  EXPECT_TRUE(std::isinf(decode(format, 0xFFFE)));
  EXPECT_EQ(encode(format, "1e9000"), encode(format, "0x1p29897"));  // 2^29897.35
  EXPECT_EQ(reduced(decode_exact(format, encode(format, "0x1p-32000"))).exponent, -32000);
}

}  // namespace
}  // namespace halftone
