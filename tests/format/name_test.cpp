// SPDX-License-Identifier: Apache-2.0
//
// Formats by name: which names there are, decided here by a regular expression and the rules of format.h;
// what they mean; and that one name is one format, from any thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>

#include "format/oracle.h"
#include "halftone/error.h"

namespace halftone {
namespace {

struct Fields {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
  bool is_signed;
  Overflow overflow = Overflow::to_special;
};

constexpr long kTooLong = 1'000'000;
long number(const std::string& text) { return text.size() > 6 ? kTooLong : std::stol(text); }

std::optional<Fields> float_fields(const std::smatch& m) {
  const bool is_signed = m[1].length() == 0;
  const long exponent = number(m[2]), mantissa = number(m[3]), bias = m[4].matched ? number(m[4]) : -1;
  const std::string suffix = m[5];
  const Specials specials = suffix == "fn"       ? Specials::nan_only
                            : suffix == "fnuz"   ? Specials::nan_zero
                            : suffix == "finite" ? Specials::none
                                                 : Specials::ieee;
  if (exponent < 1 || exponent > 11 || mantissa > 52 || bias > 2000) return std::nullopt;
  const long bits = exponent + mantissa + (is_signed ? 1 : 0);
  if (bits < 2 || bits > 64 || (specials == Specials::nan_zero && !is_signed)) return std::nullopt;
  // One positive number at least.
  if (specials == Specials::ieee && exponent == 1 && mantissa == 0) return std::nullopt;
  if (specials == Specials::nan_only && exponent + mantissa == 1) return std::nullopt;
  const long half = 1L << (exponent - 1), usual = specials == Specials::nan_zero ? half : half - 1;
  return Fields{static_cast<int>(exponent), static_cast<int>(mantissa),
                static_cast<int>(bias < 0 ? usual : bias), specials, is_signed};
}

std::optional<Fields> p3109_fields(const std::smatch& m) {
  const long bits = number(m[1]), precision = number(m[2]);
  const bool is_signed = m[3] == "s", extended = m[4] == "e";
  if (bits < 3 || bits > 16 || precision < 1 || precision > (is_signed ? bits - 1 : bits))
    return std::nullopt;
  const long exponent = bits - precision + (is_signed ? 0 : 1);
  return Fields{static_cast<int>(exponent),
                static_cast<int>(precision - 1),
                1 << (exponent - 1),
                extended    ? Specials::extended
                : is_signed ? Specials::nan_zero
                            : Specials::nan_only,
                is_signed,
                extended ? Overflow::to_special : Overflow::keep_infinity};
}

std::optional<Fields> integer_fields(long bits, long fraction, bool is_signed) {
  const long mantissa = is_signed ? bits - 1 : bits;
  if (bits > 64 || mantissa < 1 || fraction > 64) return std::nullopt;
  return Fields{0, static_cast<int>(mantissa), static_cast<int>(fraction), Specials::integer, is_signed};
}

std::optional<Fields> fields_of(const std::string& name) {
  static const std::string n = "(0|[1-9][0-9]*)";
  static const std::regex floats("(u?)e" + n + "m" + n + "(?:b" + n + ")?(fn|fnuz|finite)?"),
      p3109("binary" + n + "p" + n + "([su])([ef])"), integers("(u?)int" + n), fixed("fixed" + n + "m" + n);
  std::smatch m;
  if (std::regex_match(name, m, floats)) return float_fields(m);
  if (std::regex_match(name, m, p3109)) return p3109_fields(m);
  if (std::regex_match(name, m, integers)) return integer_fields(number(m[2]), 0, m[1].length() == 0);
  if (std::regex_match(name, m, fixed)) return integer_fields(number(m[1]), number(m[2]), true);
  return std::nullopt;
}

void check(const std::string& name) {
  const std::optional<Fields> expected = fields_of(name);
  const std::optional<Format> format = parse_format(name);
  ASSERT_EQ(format.has_value(), expected.has_value()) << name;
  if (!format) return;
  EXPECT_EQ(format->name, name);
  EXPECT_EQ(format->exponent_bits, expected->exponent_bits) << name;
  EXPECT_EQ(format->mantissa_bits, expected->mantissa_bits) << name;
  EXPECT_EQ(format->bias, expected->bias) << name;
  EXPECT_EQ(format->specials, expected->specials) << name;
  EXPECT_EQ(format->is_signed, expected->is_signed) << name;
  EXPECT_TRUE(format->has_zero) << name;
  EXPECT_EQ(format->overflow, expected->overflow) << name;
}

TEST(Name, SystematicNamesMeanWhatTheySay) {
  for (const char* name :
       {"e5m7",    "e4m3b9fn",    "ue5m3",       "ue8m0",         "e1m2",         "e8m0",       "e11m52",
        "ue11m52", "e2m1finite",  "e4m3fnuz",    "e4m3b0",        "e4m3b2000",    "e1m0finite", "e1m1",
        "e2m0fn",  "binary8p4se", "binary3p1uf", "binary16p16ue", "binary16p1uf", "int2",       "int64",
        "uint1",   "uint64",      "fixed2m0",    "fixed64m64"}) {
    EXPECT_TRUE(parse_format(name).has_value()) << name;
    check(name);
  }
  const Format e4m3b9fn = *parse_format("e4m3b9fn");
  EXPECT_EQ(max_finite(e4m3b9fn), 112);
  EXPECT_EQ(max_finite(*parse_format("ue8m0")), 0x1p127);
  EXPECT_EQ(max_finite(*parse_format("fixed16m8")), 127.99609375);
}

TEST(Name, OtherNamesAreRefused) {
  for (const char* name : {"",
                           "e",
                           "e5",
                           "m3",
                           "e0m3",
                           "e5m60",
                           "e5m53",
                           "e12m3",
                           "e05m2",
                           "e5m02",
                           "e5m2x",
                           "e5m2 ",
                           " e5m2",
                           "E5m2",
                           "e-5m2",
                           "e5m2b",
                           "e5m2b2001",
                           "e5m2b-1",
                           "e5m2fnfn",
                           "e5m2fnu",
                           "e5m2finit",
                           "ue4m3fnuz",
                           "e1m0",
                           "e1m0fn",
                           "ue1m0finite",
                           "ue11m53",
                           "eu5m2",
                           "e99999999999999999999m1",
                           "binary17p3se",
                           "binary8p9se",
                           "binary8p8se",
                           "binary2p1se",
                           "binary8p0se",
                           "binary8p4s",
                           "binary8p4es",
                           "binary8p4sex",
                           "binary8p4xe",
                           "binary08p4se",
                           "binary8p9ue",
                           "int1",
                           "int0",
                           "uint0",
                           "int65",
                           "uint65",
                           "int",
                           "int08",
                           "ufixed8m6",
                           "fixed8",
                           "fixed1m0",
                           "fixed8m65",
                           "fixed8m",
                           "float9"}) {
    EXPECT_FALSE(parse_format(name).has_value()) << name;
    check(name);
    EXPECT_THROW(find_dtype(name), DTypeError) << name;
  }
}

TEST(Name, RandomNamesAreAcceptedAsTheRulesSay) {
  const std::vector<std::string> seeds = {"e5m7",       "ue4m3b11fn",  "e2m5fnuz",
                                          "e8m3finite", "binary8p4se", "binary16p11uf",
                                          "int16",      "uint8",       "fixed16m8"};
  const std::string alphabet = "eumbfnxziarypst0123456789";
  std::mt19937_64 random(16);
  int accepted = 0;
  for (int i = 0; i < 100000 && !testing::Test::HasFailure(); ++i) {
    std::string name;
    if (i % 4 == 0) {
      for (std::size_t length = random() % 12; length > 0; --length)
        name += alphabet[random() % alphabet.size()];
    } else {
      name = seeds[random() % seeds.size()];
      for (std::size_t changes = random() % 2 + 1; changes > 0; --changes) {
        const std::size_t at = random() % (name.size() + 1);
        const char c = i % 3 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
        const int kind = static_cast<int>(random() % 4);
        if (kind == 0) name.insert(at, 1, c);
        if (kind == 1 && at < name.size()) name[at] = c;
        if (kind == 2) name.erase(at, 1);
        if (kind == 3 && at < name.size() && name[at] >= '0' && name[at] <= '9')
          name[at] = static_cast<char>('0' + random() % 10);
      }
    }
    check(name);
    if (parse_format(name)) ++accepted;
  }
  EXPECT_GT(accepted, 10000);
}

TEST(Name, ADTypeIsFoundByName) {
  for (const Format& row : kFormats) {
    EXPECT_EQ(&find_dtype(row.name).format(), &row);
    EXPECT_EQ(find_dtype(row.name).name(), row.name);
  }
  EXPECT_EQ(find_dtype("float16"), float16);
  EXPECT_EQ(dtype("bfloat16"), bfloat16);
  EXPECT_NE(float16, bfloat16);
}

TEST(Name, ADTypeOfASystematicNameIsMadeOnceAndOutlivesTheText) {
  const Format* first = nullptr;
  {
    const std::string text = "e3m6b2fn";
    first = &find_dtype(text).format();
  }
  EXPECT_EQ(first->name, "e3m6b2fn");
  EXPECT_EQ(&find_dtype("e3m6b2fn").format(), first);
  EXPECT_NE(find_dtype("e3m6b2fn"), find_dtype("e3m6b3fn"));
  EXPECT_NE(find_dtype("e3m6b3fn"), find_dtype("e3m6fn"));  // the same codes under another name
  EXPECT_TRUE(find_dtype("e3m6b3fn").format().same_codes(find_dtype("e3m6fn").format()));
  static constexpr Format kOwn = {"e3m6b2fn", 3, 6, 2, Specials::nan_only};
  EXPECT_EQ(find_dtype("e3m6b2fn"), DType(&kOwn));
}

TEST(Name, ManyThreadsFindTheSameFormats) {
  constexpr int kThreads = 4, kNames = 200;
  std::vector<std::vector<const Format*>> found(kThreads, std::vector<const Format*>(kNames));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&found, t] {
      for (int i = 0; i < kNames; ++i) {
        const int at = (i + t * 53) % kNames;
        found[static_cast<std::size_t>(t)][static_cast<std::size_t>(at)] =
            &find_dtype("e7m5b" + std::to_string(at)).format();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(found[static_cast<std::size_t>(t)], found[0]);
  EXPECT_EQ(std::set<const Format*>(found[0].begin(), found[0].end()).size(),
            static_cast<std::size_t>(kNames));
  for (int i = 0; i < kNames; ++i) EXPECT_EQ(found[0][static_cast<std::size_t>(i)]->bias, i);
}

TEST(Name, AnUnknownNameIsAnErrorThatListsTheNames) {
  try {
    find_dtype("float9");
    FAIL();
  } catch (const DTypeError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("\"float9\""));
    for (const Format& row : kFormats) EXPECT_THAT(error.what(), testing::HasSubstr(std::string(row.name)));
  }
}

}  // namespace
}  // namespace halftone
