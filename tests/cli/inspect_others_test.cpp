// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/command_text.h"

namespace halftone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string others(const std::string& arguments) {
  const std::string output = shown("inspect " + arguments);
  return output.substr(output.find("other formats"));
}

TEST(InspectOthers, FormatsWithoutASignOrZeroSayWhatTheyMakeOfThem) {
  EXPECT_THAT(others("-3"), ContainsRegex("float8_e8m0fnu +0xff +NaN .* no negative numbers: NaN\n"));
  EXPECT_THAT(others("0"), ContainsRegex("float8_e8m0fnu +0xff +NaN .* no zero: NaN\n"));
  EXPECT_THAT(others("1e-300"), ContainsRegex("float8_e8m0fnu +0x00 .* no smaller number\n"));
  EXPECT_THAT(others("inf"), ContainsRegex("float8_e4m3fn +0x7f +NaN .* no infinity: NaN\n"));
  EXPECT_THAT(others("inf"), ContainsRegex("float16 +0x7c00 +inf .* exact\n"));
}

TEST(InspectOthers, SmallNumbersOfIntegersAreRoundedNotSaturated) {
  EXPECT_THAT(others("0.1"), ContainsRegex("uint8 +0x00 +0 .* rounded to an integer\n"));
  EXPECT_THAT(others("255.6"), ContainsRegex("uint8 +0xff +255 .* saturated\n"));
  EXPECT_THAT(others("-128"), ContainsRegex("fixed8m6 +0x80 +-2 .* saturated\n"));
  EXPECT_THAT(others("0.3"), ContainsRegex("fixed8m6 +0x13 +0.296875 .* rounded\n"));
}

TEST(InspectOthers, FinitesSaturateBeyondTheLargestAndRoundBelowTheMidpoint) {
  EXPECT_THAT(others("7.5"), ContainsRegex("float4_e2m1fn +0x7 +6 .* saturated\n"));
  EXPECT_THAT(others("460"), ContainsRegex("float8_e4m3fn +0x7e +448 .* rounded to the largest\n"));
  EXPECT_THAT(others("465"), ContainsRegex("float8_e4m3fn +0x7f +NaN .* overflow to NaN\n"));
}

TEST(InspectOthers, DefaultsHoldThereWhateverIsAskedForTheFormat) {
  EXPECT_THAT(others("1e6 -f float16 --overflow saturate"),
              ContainsRegex("float8_e5m2 +0x7c +inf .* overflow to inf\n"));
}

TEST(InspectOthers, ErrorsAreRelativeToWhatWasGiven) {
  EXPECT_THAT(others("1e-400"),
              ContainsRegex("float64 +0x0000000000000000 +0 +-1e-400 +1 +flushed to zero\n"));
  EXPECT_THAT(others("0"), ContainsRegex("float16 +0x0000 +0 +0 +- +exact\n"));
  EXPECT_THAT(others("nan"), ContainsRegex("float16 +0x7e00 +NaN +- +-\n"));
  EXPECT_THAT(others("nan"), Not(HasSubstr("exact")));
}

}  // namespace
}  // namespace halftone
