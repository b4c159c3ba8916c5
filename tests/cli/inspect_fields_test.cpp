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

std::string fields(const std::string& arguments) {
  const std::string output = shown("inspect " + arguments);
  return output.substr(0, output.find("  code"));
}

TEST(InspectFields, EveryKindOfFormatIsDrawnWithItsFields) {
  const std::string brain = fields("-2.5 -f bfloat16");
  EXPECT_THAT(brain, ContainsRegex("│ +1 +│ +1 0 0 0 0 0 0 0 +│ +0 1 0 0 0 0 0 +│"));
  EXPECT_THAT(brain, HasSubstr("128 - 127 = 1"));
  EXPECT_THAT(brain, HasSubstr("1 + 32/128"));

  const std::string unsigned_float = fields("0x43 -f ue4m3");
  EXPECT_THAT(unsigned_float, Not(HasSubstr("sign ")));
  EXPECT_THAT(unsigned_float, ContainsRegex("│ +1 0 0 0 +│ +0 1 1 +│"));
  EXPECT_THAT(unsigned_float, HasSubstr("8 - 7 = 1"));

  const std::string scale = fields("0x00 -f float8_e8m0fnu");  // the smallest is a number like the others
  EXPECT_THAT(scale, ContainsRegex("│ +0 0 0 0 0 0 0 0 +│\n"));
  EXPECT_THAT(scale, HasSubstr("0 - 127 = -127"));
  EXPECT_THAT(scale, Not(HasSubstr("significand")));

  const std::string fixed = fields("0xad -f fixed8m6");  // -2 + 45/64
  EXPECT_THAT(fixed, ContainsRegex("│ +1 0 +│ +1 0 1 1 0 1 +│"));
  EXPECT_THAT(fixed, ContainsRegex("integer, two's complement +fraction"));
  EXPECT_THAT(fixed, ContainsRegex(" -2 +\\+ 45/64\n"));

  EXPECT_THAT(fields("0xf -f int4"), ContainsRegex("│ +1 1 1 1 +│\n.*two's complement\n +-1\n"));
  EXPECT_THAT(fields("0xf -f uint4"), ContainsRegex("unsigned\n +15\n"));
  EXPECT_THAT(fields("0xff -f fixed8m10"),
              ContainsRegex("two's complement, in units of 2\\^-10\n +-0.0009765625\n"));
}

TEST(InspectFields, SpecialValuesSayWhyTheyAre) {
  EXPECT_THAT(fields("inf -f float16"), ContainsRegex("all ones +infinity\n"));
  EXPECT_THAT(fields("nan -f float8_e4m3fn"), ContainsRegex("the largest code +NaN\n"));
  EXPECT_THAT(fields("nan -f float8_e4m3fnuz"), ContainsRegex("the code of -0 +NaN\n"));
  EXPECT_THAT(fields("nan -f binary8p4se"), ContainsRegex("the code of -0 +NaN\n"));
  EXPECT_THAT(fields("-inf -f binary8p4se"), ContainsRegex("the largest code +infinity\n"));
  EXPECT_THAT(fields("inf -f binary8p4ue"), ContainsRegex("the largest but one +infinity\n"));
  EXPECT_THAT(fields("nan -f binary8p4ue"), ContainsRegex("the largest code +NaN\n"));
}

TEST(InspectFields, SubnormalsAndZeroHaveNoHiddenOne) {
  EXPECT_THAT(fields("0x01 -f float8_e5m2"), ContainsRegex("zero means -14 +0 \\+ 1/4\n"));
  EXPECT_THAT(fields("0 -f float8_e5m2"), ContainsRegex("zero means -14 +0 \\+ 0/4\n"));
  EXPECT_THAT(fields("0 -f binary8p1uf"), ContainsRegex("exponent\n +zero\n"));
}

TEST(InspectFields, AllBitsAreThere) {
  for (const char* name :
       {"float64", "float32", "tfloat32", "float4_e2m1fn", "binary16p1ue", "int64", "fixed16m8"}) {
    const std::string row = lines_of(fields("1 -f " + std::string(name)))[3];
    std::string bits;
    for (const char c : row)
      if (c == '0' || c == '1') bits += c;
    std::string code = words_after(shown("inspect 1 -f " + std::string(name)), "code")[0].substr(2), expected;
    for (const char c : code)
      for (int bit = 3; bit >= 0; --bit)
        expected += (std::stoi(std::string(1, c), nullptr, 16) >> bit & 1) != 0 ? '1' : '0';
    const std::string missing = expected.substr(0, expected.size() - bits.size());
    EXPECT_EQ(missing + bits, expected) << name;
    EXPECT_EQ(missing.find('1'), std::string::npos) << name;
  }
}

TEST(InspectFields, EveryLineOfTheBoxesIsAsWideAsTheOthers) {
  for (const char* arguments :
       {"0.1 -f float16", "3 -f int32", "-1 -f fixed8m6", "1 -f float8_e8m0fnu", "inf"}) {
    const auto lines = lines_of(fields(arguments));
    EXPECT_EQ(characters(lines[2]).size(), characters(lines[3]).size()) << arguments;
    EXPECT_EQ(characters(lines[2]).size(), characters(lines[4]).size()) << arguments;
  }
}

}  // namespace
}  // namespace halftone
