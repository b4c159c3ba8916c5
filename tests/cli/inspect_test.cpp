// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/command_text.h"
#include "halftone/format.h"

namespace halftone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string inspect(const std::string& arguments) { return shown("inspect " + arguments); }

TEST(InspectCommand, DrawsTheFieldsOfANumber) {
  const std::string output = inspect("1.5 --format float16");
  EXPECT_THAT(output, HasSubstr("│ 1 0 0 0 0 0 0 0 0 0 │"));
  EXPECT_THAT(output, ContainsRegex("│ +0 +│ +0 1 1 1 1 +│"));
  EXPECT_THAT(output, ContainsRegex("sign +exponent +significand"));
  EXPECT_THAT(output, HasSubstr("15 - 15 = 0"));
  EXPECT_THAT(output, HasSubstr("1 + 512/1024"));
  EXPECT_THAT(output, HasSubstr("0x3e00"));
  EXPECT_THAT(output, HasSubstr("1.5 × 2^0 = 1536 × 2^-10"));
  EXPECT_THAT(output, ContainsRegex("class +normal"));
  EXPECT_THAT(output, ContainsRegex("below +0x3dff +1.4990234375\n"));
  EXPECT_THAT(output, ContainsRegex("above +0x3e01 +1.5009765625\n"));
  EXPECT_THAT(output, ContainsRegex("spacing +2\\^-10 = 0.0009765625\n"));
}

TEST(InspectCommand, ShowsEveryDigit) {
  const std::string output = inspect("0.1");
  EXPECT_THAT(output, HasSubstr("0x3dcccccd"));
  EXPECT_THAT(output, ContainsRegex("value +0.100000001490116119384765625\n"));
  EXPECT_THAT(output, HasSubstr("13421773 × 2^-27"));
  EXPECT_THAT(output, ContainsRegex("error +1.49e-09, relative 1.5e-08\n"));
}

TEST(InspectCommand, RoundsADecimalOnceToEachFormat) {
  // 1 + 2^-11 + 2^-40: through float32 it would become 1.
  const std::string output = inspect("0x1.0020000001p0");
  EXPECT_THAT(output, ContainsRegex("float16 +0x3c01 +1.0009765625 "));
  EXPECT_THAT(output, ContainsRegex("bfloat16 +0x3f80 +1 "));
  EXPECT_THAT(output, ContainsRegex("float64 +0x3ff0020000001000 .* exact\n"));
}

TEST(InspectCommand, ReadsEveryDigitOfADecimal) {
  // 1 + 2^-11 + 10^-30: through float64 it would be a tie, and become 1.
  const std::string output = inspect("1.000488281250000000000000000001 -f float32");
  EXPECT_THAT(output, ContainsRegex("float16 +0x3c01 +1.0009765625 +0.000488 "));
  EXPECT_THAT(output, ContainsRegex("error +-1e-30, relative 1e-30\n"));
  EXPECT_THAT(inspect("1.00048828125 -f float32"), ContainsRegex("float16 +0x3c00 +1 +-0.000488 "));
}

TEST(InspectCommand, NumbersBeyondFloat64AreNumbersToo) {
  const std::string large = inspect("1e999"), small = inspect("-1e-999");
  EXPECT_THAT(large, ContainsRegex("code +0x7f800000\n"));
  EXPECT_THAT(large, ContainsRegex("float64 +0x7ff0000000000000 +inf .* overflow to inf\n"));
  EXPECT_THAT(small, ContainsRegex("code +0x80000000\n"));
  EXPECT_THAT(small, ContainsRegex("error +1e-999, relative 1, flushed to zero\n"));
  EXPECT_THAT(inspect("1e999 -f binary16p2se"), ContainsRegex("class +normal\n"));
  EXPECT_THAT(inspect("1e99999999999999999999 -f binary16p2se"), ContainsRegex("class +infinity\n"));
}

TEST(InspectCommand, SaysWhatHappenedInTheOtherFormats) {
  const std::string large = inspect("100000");
  EXPECT_THAT(large, ContainsRegex("float16 +0x7c00 +inf +- +- +overflow to inf\n"));
  EXPECT_THAT(large, ContainsRegex("float8_e4m3fn +0x7f +NaN +- +- +overflow to NaN\n"));
  EXPECT_THAT(large, ContainsRegex("bfloat16 +0x47c3 +99840 +-160 +0.0016\n"));
  EXPECT_THAT(large, ContainsRegex("uint8 +0xff +255 .* saturated\n"));
  EXPECT_THAT(large, ContainsRegex("int32 +0x000186a0 +100000 +0 +0 +exact\n"));
  const std::string small = inspect("1e-7");
  EXPECT_THAT(small, ContainsRegex("float16 +0x0002 .* subnormal\n"));
  EXPECT_THAT(small, ContainsRegex("float8_e5m2 +0x00 +0 .* flushed to zero\n"));
  EXPECT_THAT(small, ContainsRegex("int64 +0x0000000000000000 +0 .* rounded to an integer\n"));
  EXPECT_THAT(inspect("0x1p-24"), ContainsRegex("float16 +0x0001 .* exact, subnormal\n"));
  const std::string negative = inspect("-3");
  EXPECT_THAT(negative, ContainsRegex("uint8 +0x00 +0 .* negative becomes zero\n"));
  EXPECT_THAT(negative, ContainsRegex("int32 +0xfffffffd +-3 .* exact\n"));
  EXPECT_THAT(inspect("nan"), ContainsRegex("uint8 +0x00 +0 .* NaN becomes zero\n"));
  EXPECT_THAT(inspect("-inf"), ContainsRegex("int32 +0x80000000 +-2147483648 .* saturated\n"));
  EXPECT_THAT(inspect("65519"), ContainsRegex("float16 +0x7bff +65504 .* rounded to the largest\n"));
}

TEST(InspectCommand, NamesTheClassOfANumber) {
  EXPECT_THAT(inspect("0x0001 --format float16"), ContainsRegex("class +subnormal\n"));
  EXPECT_THAT(inspect("0x0001 --format float16"), HasSubstr("0.0009765625 × 2^-14 = 1 × 2^-24"));
  EXPECT_THAT(inspect("0x0001 --format float16"), HasSubstr("zero means -14"));
  EXPECT_THAT(inspect("0x8000 --format float16"), ContainsRegex("class +negative zero\n"));
  EXPECT_THAT(inspect("0 --format float16"), ContainsRegex("class +zero\n"));
  EXPECT_THAT(inspect("inf"), ContainsRegex("class +infinity\n"));
  EXPECT_THAT(inspect("0x7f --format float8_e4m3fn"), ContainsRegex("class +NaN\n"));
  EXPECT_THAT(inspect("7 --format int32"), ContainsRegex("class +integer\n"));
  EXPECT_THAT(inspect("1e-8 -f float16"), ContainsRegex("error +-1e-08, relative 1, flushed to zero\n"));
}

TEST(InspectCommand, FindsNeighboursAcrossZeroAndAtTheEnds) {
  const std::string zero = inspect("0 --format float8_e5m2");
  EXPECT_THAT(zero, ContainsRegex("below +0x81 +-0.0000152587890625\n"));
  EXPECT_THAT(zero, ContainsRegex("above +0x01 +0.0000152587890625\n"));
  EXPECT_THAT(inspect("448 --format float8_e4m3fn"), ContainsRegex("above +none\n"));
  EXPECT_THAT(inspect("65504 --format float16"), ContainsRegex("above +0x7c00 +infinity\n"));
  EXPECT_THAT(inspect("65504 --format float16"), ContainsRegex("spacing +2\\^5 = 32\n"));
  EXPECT_THAT(inspect("1 --format float16"),
              HasSubstr("2^-11 = 0.0004882812 below, 2^-10 = 0.0009765625 above"));
  EXPECT_THAT(inspect("-1 --format float16"), ContainsRegex("above +0xbbff +-0.99951171875\n"));
  EXPECT_THAT(inspect("255 --format uint8"), ContainsRegex("below +0xfe +254\n.* above +none\n"));
  EXPECT_THAT(inspect("-1 --format int32"), ContainsRegex("above +0x00000000 +0\n"));
  EXPECT_THAT(inspect("nan"), Not(HasSubstr("above")));
}

TEST(InspectCommand, ShowsTheLargestIntegerExactly) {
  const std::string output = inspect("0x7fffffffffffffff --format int64");
  EXPECT_THAT(output, ContainsRegex("value +9223372036854775807\n"));
  EXPECT_THAT(output, ContainsRegex("float64 +0x43e0000000000000 +9.223372036854776e.18 +1 "));
}

TEST(InspectCommand, ListsEveryOtherFormatAndNotItsOwn) {
  for (const Format& own : kFormats) {
    const std::string output = inspect("2 --format " + std::string(own.name));
    const std::string table = output.substr(output.find("other formats"));
    for (const Format& row : kFormats) {
      const std::string line = "\n  " + std::string(row.name) + " ";
      EXPECT_EQ(table.find(line) == std::string::npos, &row == &own) << own.name << " " << row.name;
    }
  }
}

TEST(InspectCommand, DrawsNoColoursIntoAPipe) { EXPECT_THAT(inspect("1"), Not(HasSubstr("\x1b["))); }

TEST(InspectCommand, TakesNegativeNumbersAnywhere) {
  EXPECT_THAT(inspect("-1.5"), HasSubstr("0xbfc00000"));
  EXPECT_THAT(inspect("-1.5 --format float16"), HasSubstr("0xbe00"));
  EXPECT_THAT(inspect("--format float16 -1e4"), HasSubstr("0xf0e2"));
}

void expect_refusal(const std::string& arguments, const std::string& message) {
  expect_usage_error("inspect " + arguments, message);
}

TEST(InspectCommand, RefusesNonsense) {
  expect_refusal("abc", "\"abc\" is not a number");
  expect_refusal("1.5x", "\"1.5x\" is not a number");
  expect_refusal("'1 2'", "\"1 2\" is not a number");
  expect_refusal("' 1'", "\" 1\" is not a number");
  expect_refusal("0xzz", "\"0xzz\" is not a code");
  expect_refusal("0x", "\"0x\" is not a code");
  expect_refusal("0b2", "\"0b2\" is not a code: expected binary digits");
  expect_refusal("0b", "\"0b\" is not a code");
  expect_refusal("", "VALUE");
  expect_refusal("1 2", "2");
  expect_refusal("1 --colour", "--colour");
}

TEST(InspectCommand, TakesCodesInBinaryWithTheFieldsApart) {
  EXPECT_THAT(inspect("0b0_01111_1000000000 -f float16"), ContainsRegex("code +0x3e00\n"));
  EXPECT_THAT(inspect("0b1 -f float4_e2m1fn"), ContainsRegex("value +0.5\n"));
}

TEST(InspectCommand, RefusesACodeTooLargeForTheFormat) {
  expect_refusal("0x10000 --format float16", "whose codes end at 0xffff");
  expect_refusal("0x100 --format float8_e5m2", "whose codes end at 0xff");
  expect_refusal("0b10000 --format float4_e2m1fn", "whose codes end at 0xf");
  expect_refusal("0x10000000000000000 --format float64", "whose codes end at 0xffffffffffffffff");
}

TEST(InspectCommand, AnUnknownFormatIsAUsageErrorThatListsTheNames) {
  const CommandResult result = run_command("inspect 1 --format float9");
  EXPECT_EQ(result.code, 2);
  for (const Format& row : kFormats) EXPECT_THAT(result.output, HasSubstr(std::string(row.name)));
}

TEST(InspectCommand, HelpHasExamples) {
  const CommandResult help = run_command("inspect --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, HasSubstr("halftone inspect 0x7e --format float8_e4m3fn"));
  EXPECT_THAT(help.output, HasSubstr("binary8p4se"));
}

}  // namespace
}  // namespace halftone
