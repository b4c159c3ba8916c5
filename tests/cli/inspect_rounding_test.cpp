// SPDX-License-Identifier: Apache-2.0
//
// Roundings and midpoints against the values of a format and the definitions of the roundings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command_text.h"
#include "halftone/conversion.h"

namespace halftone {
namespace {

double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

double rounded(const std::string& output, const std::string& rounding) {
  const auto words = words_after(output, rounding);
  return words.size() < 2 ? NAN : number_of(words[1]);
}

struct Codes {
  std::vector<double> values;  // of finite codes, in order
  std::vector<bool> odd;       // their codes
};

Codes codes_of(const Format& format) {
  std::vector<std::pair<double, bool>> all;
  for (std::uint64_t code = 0; code < 1u << format.bits(); ++code)
    if (const double value = decode(format, code); std::isfinite(value))
      all.emplace_back(value, (code & 1) != 0);
  std::sort(all.begin(), all.end());
  Codes codes;
  for (const auto& [value, odd] : all)
    if (codes.values.empty() || value != codes.values.back())
      codes.values.push_back(value), codes.odd.push_back(odd);
  return codes;
}

TEST(InspectRounding, EveryRoundingFollowsItsDefinition) {
  for (const char* name : {"float4_e2m1fn", "binary4p2sf", "fixed4m2", "e3m0finite"}) {
    const Format& format = find_dtype(name).format();
    const Codes codes = codes_of(format);
    for (std::size_t i = 0; i + 1 < codes.values.size(); ++i)
      for (const double share : {0.25, 0.5, 0.8125}) {
        const double low = codes.values[i], high = codes.values[i + 1], x = low + share * (high - low);
        const std::string output = shown(fmt::format("inspect -f {} {}", name, x));
        const bool up_is_away = high > 0;
        const double outer = up_is_away ? high : low, inner = up_is_away ? low : high;
        const double even = codes.odd[i] ? high : low;
        EXPECT_EQ(rounded(output, "nearest_even"), share < 0.5 ? low : share > 0.5 ? high : even) << output;
        EXPECT_EQ(rounded(output, "nearest_away"), share < 0.5 ? low : share > 0.5 ? high : outer) << output;
        EXPECT_EQ(rounded(output, "toward_zero"), inner) << output;
        EXPECT_EQ(rounded(output, "toward_positive"), high) << output;
        EXPECT_EQ(rounded(output, "toward_negative"), low) << output;
        EXPECT_EQ(rounded(output, "to_odd"), codes.odd[i] ? low : high) << output;
        const std::string up = fmt::format("{}  with probability {}\n", high, share);
        const std::string down = fmt::format("{}  with probability {}\n", low, 1 - share);
        const std::string text = output.substr(output.find("stochastic"));
        // Columns are padded: compare without the padding.
        const auto squeeze = [](std::string s) {
          s.erase(std::unique(s.begin(), s.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                  s.end());
          return s;
        };
        EXPECT_NE(squeeze(text).find(squeeze(up)), std::string::npos) << output << up;
        EXPECT_NE(squeeze(text).find(squeeze(down)), std::string::npos) << output << down;
      }
  }
}

TEST(InspectRounding, AFewRandomBitsSeeOnlyTheFirstOfTheFraction) {
  // 1.3 lies between 1 and 1.5 in float4, 0.6 of the way: of 2 bits 0.5 is seen, of 1 bit too.
  EXPECT_NE(shown("inspect -f float4_e2m1fn 1.3 --random-bits 2").find("with probability 0.5\n"),
            std::string::npos);
  EXPECT_NE(shown("inspect -f float4_e2m1fn 1.3 --random-bits 32").find("with probability 0.6\n"),
            std::string::npos);
  // A thirty-second of the way: one bit sees nothing of it.
  EXPECT_NE(shown("inspect -f float4_e2m1fn 1.015625 --random-bits 1").find("always\n"), std::string::npos);
}

TEST(InspectRounding, MidpointsLieInTheMiddleAndSayWhereATieGoes) {
  const std::string output = shown("inspect -f float16 1");
  EXPECT_NE(output.find(
                "  below     0x3bff  0.99951171875\n  midpoint          0.999755859375  a tie: to 0x3c00\n"),
            std::string::npos)
      << output;
  EXPECT_NE(
      output.find("  above     0x3c01  1.0009765625\n  midpoint          1.00048828125  a tie: to 0x3c00\n"),
      std::string::npos)
      << output;
  EXPECT_NE(shown("inspect -f uint64 0xffffffffffffffff").find("  18446744073709551614.5  "),
            std::string::npos);
}

TEST(InspectRounding, OverflowBeginsHalfASpacingBeyondTheLargest) {
  EXPECT_EQ(words_after(shown("inspect -f float16 65504"), "overflow")[1], "65520");
  EXPECT_EQ(words_after(shown("inspect -f float16 65504"), "overflow")[0], "from");
  EXPECT_EQ(words_after(shown("inspect -f float8_e4m3fn 448"), "overflow")[0], "beyond");
  EXPECT_EQ(words_after(shown("inspect -f float8_e4m3fn 448"), "overflow")[1], "464");
  EXPECT_EQ(words_after(shown("inspect -f float8_e4m3fn -448"), "overflow")[1], "-464");
  EXPECT_EQ(words_after(shown("inspect -f float8_e4m3fn 448 --overflow saturate"), "overflow")[0],
            "saturates");
  EXPECT_TRUE(words_after(shown("inspect -f float16 1"), "overflow").empty());
}

TEST(InspectRounding, OverflowIsAsAskedFor) {
  EXPECT_TRUE(std::isinf(rounded(shown("inspect -f float16 1e6"), "nearest_even")));
  EXPECT_EQ(rounded(shown("inspect -f float16 1e6"), "toward_zero"), 65504);
  EXPECT_NE(shown("inspect -f float16 1e6 --overflow saturate").find("every rounding   0x7bff  65504\n"),
            std::string::npos);
  EXPECT_NE(
      shown("inspect -f float16 inf --overflow keep_infinity").find("every rounding   0x7c00  infinity\n"),
      std::string::npos);
  EXPECT_NE(shown("inspect -f float16 1e-6 --subnormals flush").find("every rounding   0x0000  0\n"),
            std::string::npos);
}

TEST(InspectRounding, ACodeIsNotRounded) {
  const std::string output = shown("inspect -f float16 0x3c00");
  EXPECT_EQ(output.find("rounding"), std::string::npos);
  EXPECT_NE(shown("inspect -f float16 1").find("every rounding   0x3c00  1\n"), std::string::npos);
}

}  // namespace
}  // namespace halftone
