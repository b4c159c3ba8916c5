// SPDX-License-Identifier: Apache-2.0
//
// Text is rounded once, from its digits: against exact rationals at, just above and just below midpoints,
// with the difference hundreds of digits away; against the C library for float32 and float64; and texts that
// are no number.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <regex>

#include "format/exact_oracle.h"
#include "halftone/error.h"

namespace halftone {
namespace {

using Kind = Exact::Kind;

// The digits of x >= 0, which has finitely many, as "ddd.ddd" with a point.
std::string decimal(const mpq_class& x) {
  const std::size_t places =
      mpz_sizeinbase(x.get_den().get_mpz_t(), 2) - 1;  // the denominator is a power of two
  mpz_class digits = x.get_num();
  for (std::size_t i = 0; i < places; ++i) digits *= 5;  // x = digits / 10^places
  std::string text = digits.get_str();
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  return text.insert(text.size() - places, 1, '.');
}

// The same number with an exponent: the point is moved by `shift` places.
std::string with_exponent(std::string text, int shift) {
  const std::size_t point = text.find('.');
  text.erase(point, 1);
  if (shift >= 0) {
    text.insert(0, static_cast<std::size_t>(shift), '0');
    return text.insert(point, 1, '.').append(fmt::format("e{}", shift));
  }
  text.append(static_cast<std::size_t>(-shift), '0');
  return text.insert(point + static_cast<std::size_t>(-shift), 1, '.').append(fmt::format("E{}", shift));
}

// The number of a decimal text with a point and perhaps an exponent.
mpq_class value_of(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  std::string digits(text.substr(0, e));
  long exponent =
      e == std::string_view::npos ? 0 : std::strtol(std::string(text.substr(e + 1)).c_str(), nullptr, 10);
  exponent -= static_cast<long>(digits.size() - digits.find('.') - 1);
  digits.erase(digits.find('.'), 1);
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::labs(exponent)));
  const mpz_class n(digits, 10);
  mpq_class x = exponent < 0 ? mpq_class(n, power) : mpq_class(n * power);
  x.canonicalize();
  return x;
}

std::string just_below(std::string text) {  // one less in the last digit, then nines
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == '.') continue;
    if (text[i]-- != '0') break;
    text[i] = '9';
  }
  return text + std::string(300, '9');
}

void check(const Format& format, const oracle::Thresholds& table, const std::string& text) {
  const mpq_class x = value_of(text);
  for (bool negative : {false, true}) {
    const std::string signed_text = fmt::format("{}{}", negative ? "-" : "", text);
    ASSERT_TRUE(table.same(encode(format, signed_text), table.code_of(x, negative)))
        << format.name << " " << signed_text;
  }
}

TEST(Decimal, IsRoundedOnceAtMidpointsAndHundredsOfDigitsBesideThem) {
  std::mt19937_64 random(13);
  for (const Format& row : oracle::rows()) {
    const oracle::Thresholds table(row);
    const auto& middles = table.middles();
    for (int i = 0; i < 24; ++i) {
      const std::size_t at = i < 3   ? static_cast<std::size_t>(i)
                             : i < 6 ? middles.size() - static_cast<std::size_t>(i) + 2
                                     : random() % middles.size();
      if (at >= middles.size() || middles[at] == 0) continue;
      const std::string text = decimal(mpq_class(middles[at]));
      ASSERT_NO_FATAL_FAILURE(check(row, table, text));
      ASSERT_NO_FATAL_FAILURE(check(row, table, fmt::format("{}{:0300}", text, 1)));
      ASSERT_NO_FATAL_FAILURE(check(row, table, just_below(text)));
      ASSERT_NO_FATAL_FAILURE(check(row, table, with_exponent(text, static_cast<int>(random() % 80) - 40)));
    }
    for (int i = 0; i < 20; ++i) {  // any digits
      std::string text;
      for (std::size_t k = random() % 40 + 1; k > 0; --k) text += static_cast<char>('0' + random() % 10);
      text.insert(random() % text.size(), 1, '.');
      ASSERT_NO_FATAL_FAILURE(
          check(row, table, fmt::format("{}e{}", text, static_cast<int>(random() % 60) - 40)));
    }
  }
}

TEST(Decimal, AnEncodedTextKnowsWhetherThereIsMore) {
  const auto expect = [](std::string_view text, std::uint64_t n, int exponent, bool more) {
    const Exact x = parse_exact(text);
    EXPECT_EQ(x.more, more) << text;
    EXPECT_TRUE(oracle::rational(x) == oracle::scaled(mpq_class(mpz_class(n)), exponent)) << text;
  };
  expect("1", 1, 0, false);
  expect("18446744073709551615", ~std::uint64_t{0}, 0, false);
  expect("18446744073709551615.5", ~std::uint64_t{0}, 0, true);
  expect("0x1.8p-3", 3, -4, false);
  expect("0x1.8p-30000", 3, -30001, false);
  EXPECT_TRUE(parse_exact("0.1").more);
  EXPECT_TRUE(parse_exact("-0").negative);
}

TEST(Decimal, Float32AndFloat64AreThoseOfTheCLibrary) {
  std::mt19937_64 random(14);
  const auto check_text = [](const std::string& text) {
    ASSERT_EQ(encode(float64.format(), text),
              std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
        << text;
    ASSERT_EQ(encode(float32.format(), text),
              std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)))
        << text;
  };
  for (int i = 0; i < 600; ++i) {
    std::uint64_t bits = random() >> 1;
    if (i % 4 == 0) bits &= 0x000FFFFFFFFFFFFF;  // subnormal
    const double value = std::bit_cast<double>(bits), next = std::bit_cast<double>(bits + 1);
    if (!std::isfinite(next)) continue;
    const std::string text = decimal((mpq_class(value) + mpq_class(next)) / 2);
    ASSERT_NO_FATAL_FAILURE(check_text(text));
    ASSERT_NO_FATAL_FAILURE(check_text(fmt::format("-{}{:0300}", text, 1)));
    ASSERT_NO_FATAL_FAILURE(check_text(just_below(text)));
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0x7FFFFFFF);
    if (std::isfinite(single)) {
      const double middle =
          (static_cast<double>(single) + std::nextafter(single, std::numeric_limits<float>::infinity())) / 2;
      ASSERT_NO_FATAL_FAILURE(
          check_text(decimal(std::isfinite(middle) ? mpq_class(middle) : mpq_class(0x1.ffffffp127))));
    }
    char scientific[64];
    std::snprintf(scientific, sizeof(scientific), i % 2 == 0 ? "%.17g" : "%a", value);
    ASSERT_NO_FATAL_FAILURE(check_text(scientific));
    EXPECT_EQ(encode(float64.format(), scientific), bits);
  }
  for (const char* text :
       {"0", "-0", ".5", "5.", "1e308", "1.7976931348623159e308", "4.9e-324", "2.4703282292062327e-324",
        "2.4703282292062328e-324", "0x1p-1074", "0x1p-1075", "0x1.8p-1075", "0x.8p1", "9007199254740993"})
    ASSERT_NO_FATAL_FAILURE(check_text(text));
}

TEST(Decimal, IntegersOf64BitsAreExact) {
  EXPECT_EQ(encode(int64.format(), "9223372036854775807"), 0x7FFFFFFFFFFFFFFF);
  EXPECT_EQ(encode(int64.format(), "-9223372036854775808"), 0x8000000000000000);
  EXPECT_EQ(encode(int64.format(), "-9223372036854775809"), 0x8000000000000000);
  EXPECT_EQ(encode(int64.format(), "9007199254740993"), 9007199254740993u);
  EXPECT_EQ(encode(find_dtype("uint64").format(), "18446744073709551615"), 0xFFFFFFFFFFFFFFFF);
}

TEST(Decimal, ExponentsOfAnySizeOverflowOrVanish) {
  const Conversion up{.rounding = Rounding::toward_positive};
  const std::string zeros(100000, '0');
  for (const std::string& tiny :
       {std::string("1e-99999999999"), std::string("1e-99999999999999999999999999"),
        std::string("0x1p-99999999999999999999"), fmt::format("0.{}1", zeros), std::string("1e-400000")}) {
    EXPECT_EQ(encode(float64.format(), tiny), 0u);
    EXPECT_EQ(encode(float16.format(), fmt::format("-{}", tiny)), 0x8000u);
    EXPECT_EQ(encode(float64.format(), parse_exact(tiny), up), 1u) << tiny.substr(0, 40);
    EXPECT_EQ(encode(float8_e8m0fnu.format(), tiny), 0u);
    EXPECT_EQ(encode(int32.format(), parse_exact(tiny), up), 1u);
  }
  for (const std::string& huge :
       {std::string("1e99999999999"), std::string("1e99999999999999999999999999"),
        std::string("0x1p99999999999999999999"), fmt::format("1{}", zeros), std::string("1e400000")}) {
    EXPECT_EQ(encode(float64.format(), huge), 0x7FF0000000000000u);
    EXPECT_EQ(encode(float8_e5m2.format(), fmt::format("-{}", huge)), 0xFCu);
    EXPECT_EQ(encode(float4_e2m1fn.format(), huge), 7u);
    EXPECT_EQ(encode(int32.format(), fmt::format("-{}", huge)), 0x80000000u);
    EXPECT_EQ(encode(float16.format(), parse_exact(huge), {.rounding = Rounding::toward_zero}), 0x7BFFu);
  }
  EXPECT_EQ(encode(float16.format(), "0e99999999999999999999"), 0u);
  EXPECT_EQ(encode(float16.format(), "-0e-99999999999999999999"), 0x8000u);
  EXPECT_EQ(encode(float16.format(), fmt::format("0.{}15e100001", zeros)), 0x3E00u);
}

TEST(Decimal, WordsAreInfinityAndNaN) {
  for (const char* text : {"inf", "+inf", "INF", "Infinity", "iNf"})
    EXPECT_EQ(parse_exact(text), (Exact{Kind::infinity, false})) << text;
  EXPECT_EQ(parse_exact("-infinity"), (Exact{Kind::infinity, true}));
  EXPECT_EQ(parse_exact("nan").kind, Kind::nan);
  EXPECT_TRUE(parse_exact("-NaN").negative);
  EXPECT_EQ(encode(float16.format(), "-inf"), 0xFC00u);
  EXPECT_EQ(encode(float8_e4m3fn.format(), "-nan"), 0xFFu);
  EXPECT_EQ(encode(float4_e2m1fn.format(), "nan"), 0u);
}

// Mutations of numbers: what is a number is decided by a regular expression.
TEST(Decimal, AnythingElseIsAnError) {
  const std::regex number(
      "[+-]?(([0-9]+\\.?[0-9]*|\\.[0-9]+)(e[+-]?[0-9]+)?|0x([0-9a-f]+\\.?[0-9a-f]*|\\.[0-9a-f]+)(p[+-]?[0-9]+"
      ")?|"
      "inf|infinity|nan)",
      std::regex::icase);
  std::vector<std::string> texts = {"",     " ",     "+",     "-",    ".",       "e5",   "1e",
                                    "1e+",  "0x",    "0xp3",  "1 ",   " 1",      "1,5",  "--1",
                                    "1..2", "0x1e5", "0x1p",  "1p3",  "0x1.8e3", "infi", "nan(1)",
                                    "1f",   "0b1",   "1_000", "1e5.0"};
  const std::string alphabet = "0123456789.eE+-xXpPinfatyNAN_ ,\t";
  const std::vector<std::string> seeds = {"0.1",  "-1e-400",         "0x1.8p-3", "inf",
                                          "+nan", "123456789.5e+12", "0X.FP7",   "infinity"};
  std::mt19937_64 random(15);
  for (int i = 0; i < 30000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (std::size_t changes = random() % 3 + 1; changes > 0; --changes) {
      const std::size_t at = random() % (text.size() + 1);
      const char c = random() % 16 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
      const int kind = static_cast<int>(random() % 3);
      if (kind == 0) text.insert(at, 1, c);
      if (kind == 1 && at < text.size()) text[at] = c;
      if (kind == 2) text.erase(at);
    }
    texts.push_back(text);
  }
  int numbers = 0, errors = 0;
  for (const std::string& text : texts) {
    const bool expected = std::regex_match(text, number);
    try {
      parse_exact(text);
      ASSERT_TRUE(expected) << text;
      ++numbers;
    } catch (const ValueError&) {
      ASSERT_FALSE(expected) << text;
      ++errors;
    }
  }
  EXPECT_GT(numbers, 3000);
  EXPECT_GT(errors, 3000);
}

}  // namespace
}  // namespace halftone
