// SPDX-License-Identifier: Apache-2.0
//
// The words for special values and overflow, against all codes of short formats.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command_text.h"
#include "halftone/conversion.h"

namespace halftone {
namespace {

TEST(NumberLimits, SpecialsAreThoseThatTheCodesShow) {
  for (const char* name : {"float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float6_e3m2fn",
                           "float8_e8m0fnu", "binary8p4se", "binary8p4sf", "binary8p4ue", "binary8p4uf",
                           "ue4m3", "ue5m3fn", "int4", "uint4", "fixed8m6", "e3m0"}) {
    const Format& format = find_dtype(name).format();
    bool infinity = false, nan = false, zero = false, negative_zero = false, negative = false;
    for (std::uint64_t code = 0; code < 1u << format.bits(); ++code) {
      const double value = decode(format, code);
      infinity = infinity || std::isinf(value);
      nan = nan || std::isnan(value);
      zero = zero || (value == 0 && !std::signbit(value));
      negative_zero = negative_zero || (value == 0 && std::signbit(value));
      negative = negative || value < 0;
    }
    const auto row = nlohmann::json::parse(shown("formats --json " + std::string(name)))[0];
    const std::string specials = row["specials"];
    EXPECT_EQ(specials.find("inf") != std::string::npos, infinity) << name << ": " << specials;
    EXPECT_EQ(specials.find("NaN") != std::string::npos, nan) << name << ": " << specials;
    EXPECT_EQ(specials.find("no zero") != std::string::npos, !zero) << name << ": " << specials;
    const bool is_float = row["kind"] == "float";
    EXPECT_EQ(specials.find("one zero") != std::string::npos, is_float && negative && !negative_zero)
        << name << ": " << specials;
    EXPECT_EQ(specials == "none", !infinity && !nan && zero) << name << ": " << specials;
    EXPECT_EQ(row["is_signed"], negative) << name;
  }
}

TEST(NumberLimits, OverflowBecomesWhatAHugeValueBecomes) {
  for (const char* name :
       {"float8_e5m2", "float8_e4m3fn", "float4_e2m1fn", "binary8p4sf", "binary8p4se", "int4"}) {
    const Format& format = find_dtype(name).format();
    const double became = decode(format, encode(format, 0x1p80, default_conversion(format)));
    const std::string expected = std::isnan(became) ? "NaN" : std::isinf(became) ? "inf" : "largest";
    EXPECT_EQ(nlohmann::json::parse(shown("formats --json " + std::string(name)))[0]["overflow_becomes"],
              expected)
        << name;
  }
}

TEST(NumberLimits, LargeWholeNumbersAreToldAsPowers) {
  EXPECT_NE(shown("formats uint64").find("  2^64-1  "), std::string::npos);
  EXPECT_NE(shown("formats int32").find("  2147483647  "), std::string::npos);
}

}  // namespace
}  // namespace halftone
