// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/convert_files.h"

namespace halftone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConvertReport, TheTextSaysWhatWasDone) {
  const ConvertFiles files;
  files.save("w.npy", {1, 2, 3, 1000, -0.001f, 17}, {2, 3});
  const std::string text = files.convert("w.npy --to float8_e4m3fn -o o.bin");
  EXPECT_THAT(text, HasSubstr("float32, shape (2, 3), 6 values\n"));
  EXPECT_THAT(text, HasSubstr("to float8_e4m3fn nearest_even, overflow to_special, subnormals kept\n"));
  EXPECT_THAT(text, HasSubstr("6 values: 3 exact, 1 rounded, 1 to subnormal, 1 to NaN\n"));
  EXPECT_THAT(text, HasSubstr("largest error    1 at [1, 2]: 17 became 16\n"));
  EXPECT_THAT(text, HasSubstr("of the 5 values that were finite and stayed so\n"));
  EXPECT_THAT(text, HasSubstr("written          o.bin: 6 bytes, raw float8_e4m3fn\n"));
}

TEST(ConvertReport, BlocksSayHowTheyAreBuilt) {
  const ConvertFiles files;
  files.save("w.npy", {1, 2, 3});
  const std::string text = files.convert("w.npy --to nvfp4 -o o.bin");
  EXPECT_THAT(text, HasSubstr("blocks of 16 float4_e2m1fn, each with a scale of float8_e4m3fn (nearest)\n"));
  EXPECT_THAT(text, HasSubstr("tensor scale     0.0011160"));
  EXPECT_THAT(text, HasSubstr("o.bin: 2 bytes, float4_e2m1fn packed, 4 bits each\n"));
  EXPECT_THAT(text, HasSubstr("o.bin.scales: 1 byte, raw float8_e4m3fn\n"));
  EXPECT_THAT(text, Not(HasSubstr("rounded to float32 first")));
  data::write_npy(files.path("d.npy"), {{1}, float64, std::vector<std::byte>(8)});
  EXPECT_THAT(files.convert("d.npy --to mxfp4"), HasSubstr("rounded to float32 first"));
}

TEST(ConvertReport, JsonCountsAreThoseOfTheText) {
  const ConvertFiles files;
  files.save("w.npy", {1, 2, 3, 1000, -0.001f, 17}, {2, 3});
  const auto report = files.json("w.npy --to float8_e4m3fn");
  EXPECT_EQ(report["census"]["exact"], 3);
  EXPECT_EQ(report["census"]["to_nan"], 1);
  EXPECT_EQ(report["exponents"], (nlohmann::json{{"-10", 1}, {"0", 1}, {"1", 2}, {"4", 1}, {"9", 1}}));
  EXPECT_EQ(report["to"], "float8_e4m3fn");
  EXPECT_TRUE(report["written"].empty());
}

}  // namespace
}  // namespace halftone
