// SPDX-License-Identifier: Apache-2.0
//
// The classes of the census and its histogram, of single values and of rows of any format;
// census_simd_test.cpp has the vector loops.
#include "halftone/census.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "format/census_oracle.h"
#include "halftone/random.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Format> census_rows() {
  std::vector<Format> rows = oracle::rows(64);
  for (std::string_view name : {"binary16p2se", "binary16p1ue", "uint64", "fixed64m32"})
    if (std::none_of(rows.begin(), rows.end(), [name](const Format& row) { return row.name == name; }))
      rows.push_back(*parse_format(name));
  return rows;
}

template <class Real>
std::vector<std::uint64_t> encode_each(const Format& row, const std::vector<Real>& values,
                                       const Conversion& c) {
  std::vector<std::uint64_t> codes;
  for (Real x : values) codes.push_back(encode(row, double{x}, c, 0x80000000));
  return codes;
}

class CountedRow {
 public:
  explicit CountedRow(const Format& row) : row_(row) {}

  template <class Real>
  Census count_each(const std::vector<Real>& values, const std::vector<std::uint64_t>& codes) const {
    Census census;
    for (std::size_t i = 0; i < values.size(); ++i)
      count_conversion(row_, double{values[i]}, codes[i], census);
    return census;
  }

  template <class Real>
  Census count_at_once(const std::vector<Real>& values, const std::vector<std::uint64_t>& codes) const {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<unsigned char> row_of_codes(values.size() * static_cast<std::size_t>(dtype().bytes()));
    for (std::int64_t i = 0; i < count; ++i)
      store_code(dtype(), row_of_codes.data(), i, codes[static_cast<std::size_t>(i)]);
    Census census;
    count_row(dtype(), values.data(), row_of_codes.data(), count, census);
    return census;
  }

  template <class Real>
  void check_classes() const {
    const oracle::CensusOracle oracle(row_);
    const auto values = oracle::census_values<Real>(row_, 400);
    for (const Conversion& conversion : oracle::census_conversions(row_)) {
      const auto codes = encode_each(row_, values, conversion);
      const Census expected = oracle.count(std::vector<double>(values.begin(), values.end()), codes);
      ASSERT_EQ(expected.count(), static_cast<std::int64_t>(values.size()));
      ASSERT_TRUE(count_each(values, codes) == expected)
          << describe(count_each(values, codes)) << "\ninstead of " << describe(expected) << '\n'
          << describe(conversion);
      ASSERT_TRUE(count_at_once(values, codes) == expected) << describe(count_at_once(values, codes));
#if defined(__SSE2__)
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);  // subnormals flushed, as input and as result
      const Census at_once = count_at_once(values, codes);
      _mm_setcsr(before);
      ASSERT_TRUE(at_once == expected) << describe(at_once) << "\ninstead of " << describe(expected);
#endif
    }
  }

  template <class Real>
  void check_codes() const {
    const auto values = oracle::census_values<Real>(row_, 5000);
    const auto count = static_cast<std::int64_t>(values.size());
    const auto bytes = static_cast<std::size_t>(dtype().bytes());
    const RandomWords random{3, streams::rounding, 1001};
    for (const Conversion& conversion : oracle::census_conversions(row_)) {
      std::vector<unsigned char> plain(values.size() * bytes), counted(values.size() * bytes);
      encode_row(dtype(), values.data(), plain.data(), count, conversion, random);
      Census census;
      encode_row(dtype(), values.data(), counted.data(), count, conversion, random, &census);
      ASSERT_EQ(counted, plain) << describe(conversion);
      std::vector<std::uint64_t> codes;
      for (std::int64_t i = 0; i < count; ++i) codes.push_back(load_code(dtype(), plain.data(), i));
      ASSERT_TRUE(census == count_each(values, codes)) << describe(census);
      if (bytes > sizeof(Real)) continue;
      std::vector<Real> buffer = values;
      Census in_place;
      encode_row(dtype(), buffer.data(), buffer.data(), count, conversion, random, &in_place);
      ASSERT_EQ(std::memcmp(buffer.data(), plain.data(), plain.size()), 0);
      ASSERT_TRUE(in_place == census) << describe(in_place);
    }
  }

 private:
  DType dtype() const { return DType(&row_); }

  Format row_;
};

template <class Check>
void check_every_row(const Check& check) {
  for (const Format& row : census_rows()) {
    SCOPED_TRACE(std::string(row.name));
    ASSERT_NO_FATAL_FAILURE(check(CountedRow(row)));
  }
}

TEST(CensusOfEveryRow, HasFloatsInTheClassesOfTheHeader) {
  check_every_row([](const CountedRow& row) { row.check_classes<float>(); });
}

TEST(CensusOfEveryRow, HasDoublesInTheClassesOfTheHeader) {
  check_every_row([](const CountedRow& row) { row.check_classes<double>(); });
}

TEST(CensusOfEveryRow, OfEncodedFloatsLeavesTheCodesAsTheyAre) {
  check_every_row([](const CountedRow& row) { row.check_codes<float>(); });
}

TEST(CensusOfEveryRow, OfEncodedDoublesLeavesTheCodesAsTheyAre) {
  check_every_row([](const CountedRow& row) { row.check_codes<double>(); });
}

// Each class by example, in the words of the header.
TEST(Census, EveryValueIsInOneClass) {
  const auto check = [](std::string_view name, double value, const Conversion& conversion,
                        std::int64_t Census::*wanted) {
    const Format& row = find_dtype(name).format();
    Census census;
    count_conversion(row, value, encode(row, value, conversion), census);
    EXPECT_EQ(census.*wanted, 1) << name << ' ' << value << ": " << describe(census);
    EXPECT_EQ(census.count(), 1);
  };
  const Conversion special, saturate{.overflow = Overflow::saturate},
      keep{.overflow = Overflow::keep_infinity};
  const Conversion flush{.subnormals = Subnormals::flush}, zero{.rounding = Rounding::toward_zero};
  for (double x : {0.0, -0.0, kInf, -kInf, 1.0, -65504.0, 0x1p-24})
    check("float16", x, special, &Census::exact);
  check("float8_e4m3fnuz", -0.0, special, &Census::exact);  // its zero has no sign
  check("float8_e5m2", kInf, keep, &Census::exact);
  check("float16", 1.0001, special, &Census::rounded);
  check("float16", 0x1p-14 - 0x1p-30, special, &Census::rounded);  // up to the smallest normal
  check("float16", 0x1.8p-24, special, &Census::to_subnormal);
  check("float16", 0x1p-25, special, &Census::to_zero);
  check("float16", -0x1p-15, flush, &Census::to_zero);
  check("float16", 5e-324, special, &Census::to_zero);
  check("float16", 65505, special, &Census::saturated);  // beyond the largest, and back to it
  check("float16", 65519, zero, &Census::saturated);
  check("float16", 1e9, saturate, &Census::saturated);
  check("float16", kInf, saturate, &Census::saturated);
  check("float6_e2m3fn", -kInf, special, &Census::saturated);
  check("fixed8m6", -2.0, special, &Census::exact);
  check("fixed8m6", -2.01, special, &Census::saturated);
  check("fixed8m6", 2.0, special, &Census::saturated);
  check("fixed8m6", 0x1p-7, special, &Census::to_zero);
  check("uint8", 255.25, special, &Census::saturated);
  check("uint8", -1, special, &Census::saturated);  // beyond the other end
  check("float16", 65520, special, &Census::to_infinity);
  check("float16", -1e300, special, &Census::to_infinity);
  check("float8_e4m3fn", 465, special, &Census::to_nan);
  check("float8_e4m3fn", kInf, special, &Census::to_nan);
  check("float8_e8m0fnu", 0, special, &Census::to_nan);
  check("float8_e8m0fnu", -1, special, &Census::to_nan);
  check("float16", kNan, special, &Census::nan);
  check("float4_e2m1fn", -kNan, special, &Census::nan);       // whatever it became
  check("int64", 0x1p63, special, &Census::saturated);        // 2^63 - 1, which no double tells from it
  check("binary16p2se", kInf, saturate, &Census::saturated);  // far beyond the largest double
}

TEST(Census, HistogramHasTheExponentOfEveryDouble) {
  Census census, expected;
  for (int exponent = Census::kLowest; exponent <= Census::kHighest; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    for (double x :
         {power, -power, std::nextafter(2 * power, 0.0)}) {  // the last double is the one below infinity
      if (!std::isfinite(x)) x = std::numeric_limits<double>::max();
      count_conversion(float64.format(), x, encode(float64.format(), x), census);
    }
    expected.at(exponent) = 3;
    expected.exact += 3;
  }
  EXPECT_TRUE(census == expected) << describe(census);
  for (double x : {0.0, -0.0, kInf, -kInf, kNan})
    count_conversion(float64.format(), x, encode(float64.format(), x), census);
  EXPECT_EQ(census.exponents, expected.exponents);
  EXPECT_EQ(census.count(), expected.count() + 5);
}

// 2^53 + 1 is no double, nor is 2^64 - 1, 2^63 + 1 or, as the latter with a sign, 1 - 2^63.
TEST(Census, OfExactValuesTellsApartWhatDoublesDoNot) {
  const std::uint64_t codes[] = {(std::uint64_t{1} << 53) + 1, ~std::uint64_t{0},
                                 (std::uint64_t{1} << 63) + 1, 5};
  for (const char* name : {"int64", "uint64"}) {
    const Format& row = find_dtype(name).format();
    Census same, next;
    for (const std::uint64_t code : codes) {
      count_conversion(row, decode_exact(row, code), code, same);
      count_conversion(row, decode_exact(row, code), code - 1, next);
    }
    EXPECT_EQ(describe(same), "4 values: 4 exact") << name;
    EXPECT_EQ(describe(next), "4 values: 4 rounded") << name;
    EXPECT_EQ(same.at(53), 1) << name;
    EXPECT_EQ(same.at(2), 1) << name;
  }
}

// Its values are 2^-16383 to 2^16382: those from 2^1023 up are at the upper end, those up to 2^-1074 at the
// lower one.
TEST(Census, OfValuesBeyondDoubleCountsAtTheEnds) {
  const Format& row = find_dtype("binary16p1se").format();
  Census census;
  for (std::uint64_t code = 0; code < 65536; ++code)
    count_conversion(row, decode_exact(row, code), code, census);
  EXPECT_EQ(describe(census), "65,536 values: 65,535 exact, 1 NaN");
  EXPECT_EQ(census.at(Census::kLowest), 2 * (16383 - 1074 + 1));
  EXPECT_EQ(census.at(Census::kHighest), 2 * (16382 - 1023 + 1));
  for (int exponent = Census::kLowest + 1; exponent < Census::kHighest; ++exponent)
    ASSERT_EQ(census.at(exponent), 2) << exponent;
}

TEST(Census, AddsUp) {
  const std::vector<double> values = oracle::census_values<double>(float16.format(), 1000);
  Census whole, front, back;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t code = encode(float16.format(), values[i]);
    count_conversion(float16.format(), values[i], code, whole);
    count_conversion(float16.format(), values[i], code, i < 300 ? front : back);
  }
  EXPECT_FALSE(front == whole);
  EXPECT_EQ(&(front += back), &front);
  EXPECT_TRUE(front == whole);
  EXPECT_EQ(whole.count(), static_cast<std::int64_t>(values.size()));
  front += Census{};
  EXPECT_TRUE(front == whole);
}

TEST(Census, IsDescribedInWords) {
  Census census;
  EXPECT_EQ(describe(census), "0 values");
  census.exact = 1;
  EXPECT_EQ(describe(census), "1 value: 1 exact");
  census = {};
  census.exact = 12, census.rounded = 980, census.to_zero = 8;
  EXPECT_EQ(describe(census), "1,000 values: 12 exact, 980 rounded, 8 to zero");
  census = {};
  census.exact = 1, census.rounded = 22, census.to_subnormal = 333, census.to_zero = 4444,
  census.saturated = 55555;
  census.to_infinity = 666666, census.to_nan = 7777777, census.nan = 88888888;
  EXPECT_EQ(describe(census),
            "97,393,686 values: 1 exact, 22 rounded, 333 to subnormal, 4,444 to zero, 55,555 saturated, "
            "666,666 to infinity, 7,777,777 to NaN, 88,888,888 NaN");
}

}  // namespace
}  // namespace halftone
