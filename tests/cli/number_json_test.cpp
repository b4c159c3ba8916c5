// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/command_text.h"
#include "halftone/block.h"

namespace halftone {
namespace {

nlohmann::json rows(const std::string& arguments) {
  return nlohmann::json::parse(shown("formats --json " + arguments));
}

TEST(NumberJson, SaysOfEveryFormatWhatItsRowSays) {
  const auto all = rows("");
  ASSERT_EQ(all.size(), std::size(kFormats) + std::size(kBlockFormats));
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const Format& format = kFormats[i];
    EXPECT_EQ(all[i]["name"], format.name);
    EXPECT_EQ(all[i]["bits"], format.bits());
    EXPECT_EQ(all[i]["is_signed"], format.is_signed);
    EXPECT_EQ(all[i]["has_zero"], format.has_zero);
    EXPECT_EQ(all[i]["epsilon"].get<double>(), epsilon(format));
    EXPECT_EQ(all[i]["max_finite"].get<double>(), max_finite(format));
    EXPECT_EQ(all[i]["rounding"], "nearest_even");
    EXPECT_EQ(all[i]["overflow"], "to_special");
    if (!format.is_floating()) continue;
    EXPECT_EQ(all[i]["exponent_bits"], format.exponent_bits);
    EXPECT_EQ(all[i]["mantissa_bits"], format.mantissa_bits);
    EXPECT_EQ(all[i]["bias"], format.bias);
    EXPECT_EQ(all[i]["min_normal"].get<double>(), min_normal(format));
    EXPECT_EQ(all[i]["min_subnormal"].get<double>(), min_subnormal(format));
    EXPECT_EQ(all[i]["max_exponent"].get<int>(), std::ilogb(max_finite(format)));
    EXPECT_EQ(all[i]["min_exponent"].get<int>(), std::ilogb(min_subnormal(format)));
  }
  EXPECT_EQ(all[3]["codes"], 65536);
  EXPECT_EQ(all[5]["has_infinity"], false);
  EXPECT_EQ(all[5]["has_nan"], true);
  EXPECT_EQ(all[5]["overflow_becomes"], "NaN");
  EXPECT_EQ(all[14]["overflow_becomes"], "largest");
}

TEST(NumberJson, BlocksAreRowsOfTheirOwnKind) {
  const auto all = rows("mxfp6_e2m3 nvfp4");
  EXPECT_EQ(all[0]["kind"], "block");
  EXPECT_EQ(all[0]["element"], "float6_e2m3fn");
  EXPECT_EQ(all[0]["length"], 32);
  EXPECT_EQ(all[0]["scale"], "float8_e8m0fnu");
  EXPECT_EQ(all[0]["rule"], "floor");
  EXPECT_EQ(all[0]["bits_per_element"].get<double>(), 6.25);
  EXPECT_EQ(all[1]["has_tensor_scale"], true);
  EXPECT_EQ(all[1]["max_finite"].get<double>(), 6 * 448);
}

TEST(NumberJson, WhatADoubleCanNotHoldIsNullBesideItsExponent) {
  const auto wide = rows("binary16p2se")[0];
  EXPECT_TRUE(wide["max_finite"].is_null());
  EXPECT_TRUE(wide["min_subnormal"].is_null());
  EXPECT_EQ(wide["max_exponent"], 8191);
  EXPECT_EQ(wide["min_exponent"], -8192);
  EXPECT_EQ(rows("int64")[0]["max_finite"].get<std::uint64_t>(), 9223372036854775807u);
}

TEST(NumberJson, NothingChosenIsAnEmptyArray) { EXPECT_EQ(rows("--bits 5"), nlohmann::json::array()); }

}  // namespace
}  // namespace halftone
