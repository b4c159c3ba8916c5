// SPDX-License-Identifier: Apache-2.0
//
// Neighbours and classes against all values of a format, sorted.
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

std::string inspect(const Format& format, std::uint64_t code) {
  return shown("inspect -f " + std::string(format.name) + " 0x" +
               std::string(1, "0123456789abcdef"[code >> 4]) + "0123456789abcdef"[code & 15]);
}

double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Every value of the format once, without NaN, in order.
std::vector<double> values_of(const Format& format) {
  std::vector<double> values;
  for (std::uint64_t code = 0; code < 1u << format.bits(); ++code)
    if (const double value = decode(format, code); !std::isnan(value)) values.push_back(value);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

TEST(NumberCode, NeighboursAreTheNextValues) {
  for (const char* name :
       {"float4_e2m1fn", "binary4p2se", "binary4p1ue", "e2m1fnuz", "ue3m1fn", "fixed4m2", "int4"}) {
    const Format& format = find_dtype(name).format();
    const std::vector<double> values = values_of(format);
    for (std::uint64_t code = 0; code < 1u << format.bits(); ++code) {
      const double value = decode(format, code);
      const std::string output = inspect(format, code);
      const auto below = words_after(output, "below"), above = words_after(output, "above");
      if (std::isnan(value)) {
        EXPECT_TRUE(below.empty() && above.empty()) << output;
        continue;
      }
      const auto at = std::find(values.begin(), values.end(), value);
      if (at == values.begin())
        EXPECT_EQ(below[0], "none") << output;
      else
        EXPECT_EQ(number_of(below[1]), *(at - 1)) << output;
      if (at + 1 == values.end())
        EXPECT_EQ(above[0], "none") << output;
      else
        EXPECT_EQ(number_of(above[1]), *(at + 1)) << output;
    }
  }
}

TEST(NumberCode, TheSpacingIsTheDifference) {
  for (const char* name : {"float4_e2m1fn", "binary4p2se", "fixed4m2"}) {
    const Format& format = find_dtype(name).format();
    const std::vector<double> values = values_of(format);
    for (std::size_t i = 1; i + 1 < values.size(); ++i) {
      const std::string output = inspect(format, encode(format, values[i]));
      const double down = values[i] - values[i - 1], up = values[i + 1] - values[i];
      if (std::isinf(down) || std::isinf(up)) continue;
      const auto words = words_after(output, "spacing");  // 2^-1 = 0.5 below, 2^0 = 1 above
      EXPECT_EQ(number_of(words[2]), down) << output;
      EXPECT_EQ(down == up, words.size() == 3) << output;
      EXPECT_EQ(number_of(words[down == up ? 2 : 6]), up) << output;
    }
  }
}

TEST(NumberCode, ClassesAreNamed) {
  struct Case {
    const char *format, *code, *name;
  };
  const Case cases[] = {{"float8_e5m2", "0x00", "zero"},      {"float8_e5m2", "0x80", "negative zero"},
                        {"float8_e5m2", "0x03", "subnormal"}, {"float8_e5m2", "0x04", "normal"},
                        {"float8_e5m2", "0x7c", "infinity"},  {"float8_e5m2", "0x7d", "NaN"},
                        {"float8_e4m3fnuz", "0x80", "NaN"},   {"float8_e8m0fnu", "0x00", "normal"},
                        {"float8_e8m0fnu", "0xff", "NaN"},    {"binary8p1uf", "0x00", "zero"},
                        {"binary8p1uf", "0x01", "normal"},    {"binary8p4se", "0x7f", "infinity"},
                        {"binary8p4se", "0xff", "infinity"},  {"binary8p4ue", "0xfe", "infinity"},
                        {"binary8p4ue", "0xff", "NaN"},       {"fixed8m6", "0x80", "fixed point"},
                        {"int4", "0xf", "integer"},           {"int4", "0x0", "zero"}};
  for (const Case& c : cases) {
    const std::string output = shown("inspect -f " + std::string(c.format) + " " + c.code);
    EXPECT_NE(output.find("  class     " + std::string(c.name) + "\n"), std::string::npos) << output;
  }
}

TEST(NumberCode, SixtyFourBitsHaveNeighboursToo) {
  EXPECT_EQ(words_after(shown("inspect -f uint64 0xffffffffffffffff"), "below")[1], "18446744073709551614");
  EXPECT_EQ(words_after(shown("inspect -f int64 0x8000000000000000"), "above")[1], "-9223372036854775807");
  EXPECT_EQ(words_after(shown("inspect -f int64 0x8000000000000000"), "below")[0], "none");
  EXPECT_EQ(words_after(shown("inspect -f int64 -1"), "above")[1], "0");
}

}  // namespace
}  // namespace halftone
