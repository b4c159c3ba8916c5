// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "halftone/block.h"
#include "halftone/error.h"

namespace halftone {
namespace {

TEST(BlockName, FindsTheRowsOfTheTable) {
  for (const BlockFormat& row : kBlockFormats) EXPECT_EQ(find_block_format(row.name), row);
}

TEST(BlockName, ChangesTheRule) {
  const BlockFormat f = find_block_format("mxfp4:rceil");
  EXPECT_EQ(f.rule, ScaleRule::rceil);
  EXPECT_EQ(f.element, float4_e2m1fn);
  EXPECT_EQ(f.length, 32);
  EXPECT_EQ(f.name, "mxfp4:rceil");
  EXPECT_EQ(find_block_format(std::string("mxfp4:rceil")).name.data(), f.name.data());  // kept once
}

TEST(BlockName, IsMadeUpOfParts) {
  const BlockFormat f = find_block_format("e3m1:24:ue4m4:nearest");
  EXPECT_EQ(f.element.format().bits(), 5);
  EXPECT_EQ(f.scale.format().bits(), 8);
  EXPECT_FALSE(f.scale.format().is_signed);
  EXPECT_EQ(f.length, 24);
  EXPECT_EQ(f.rule, ScaleRule::nearest);
  EXPECT_EQ(f.element_bytes(), 15);
  EXPECT_FALSE(f.has_tensor_scale);
}

TEST(BlockName, OfAnythingElseIsAnErrorThatSaysWhat) {
  const auto message = [](const std::string& name) {
    try {
      find_block_format(name);
    } catch (const DTypeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("mxfp5"), testing::HasSubstr("mxfp8_e4m3, mxfp8_e5m2"));
  EXPECT_THAT(message("mxfp4:up"), testing::HasSubstr("scale rule \"up\""));
  EXPECT_THAT(message("mxfp9:floor"), testing::HasSubstr("\"mxfp9\""));
  EXPECT_THAT(message("float16:32:float8_e8m0fnu:floor"), testing::HasSubstr("more than 8 bits"));
  for (const char* element : {"e4m3b2000", "e4m3b200", "ue8m0b0", "e4m3b142finite"})
    EXPECT_THAT(message(std::string(element) + ":4:float8_e8m0fnu:floor"),
                testing::HasSubstr("has elements out of the range of float32"))
        << element;
  for (const char* element : {"e4m3b9fn", "float8_e8m0fnu", "e4m3b140finite"})
    EXPECT_EQ(message(std::string(element) + ":4:float8_e8m0fnu:floor"), "") << element;
  EXPECT_THAT(message("float4_e2m1fn:0:float8_e8m0fnu:floor"), testing::HasSubstr("blocks of \"0\""));
  EXPECT_THAT(message("float4_e2m1fn:3x:float8_e8m0fnu:floor"), testing::HasSubstr("blocks of \"3x\""));
  EXPECT_THAT(message("float4_e2m1fn:16:float32:floor"), testing::HasSubstr("scale"));
  EXPECT_THAT(message("float4_e2m1fn:16:uint8:floor"), testing::HasSubstr("scale"));
  EXPECT_THAT(message("float5:16:float8_e8m0fnu:floor"), testing::HasSubstr("\"float5\""));
  for (const char* name : {"", ":", "::", ":::", "mxfp4:", "a:b:c:d:e"}) EXPECT_NE(message(name), "") << name;
}

TEST(BlockName, RandomTextIsAFormatOrADTypeError) {
  std::mt19937 random(1);
  const std::string alphabet = "mxfp4:e2u8flornay0123";
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 != 0 ? "mxfp4:rceil" : "e2m1:16:ue4m3:floor";
    for (int change = 0; change < 3; ++change)
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    try {
      EXPECT_GE(find_block_format(text).length, 1);
    } catch (const DTypeError&) {
    }
  }
}

}  // namespace
}  // namespace halftone
