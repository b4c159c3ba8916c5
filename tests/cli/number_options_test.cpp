// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/command_text.h"
#include "halftone/block.h"

namespace halftone {
namespace {

TEST(NumberOptions, ABlockFormatWhereANumberFormatBelongsNamesItsElement) {
  expect_usage_error("inspect 1 -f mxfp4",
                     "mxfp4 is a block format; here a number format is needed, as that of its "
                     "elements, float4_e2m1fn");
  expect_usage_error("inspect 1 -f mxfp4:rceil", "float4_e2m1fn");
  expect_usage_error("inspect 1 -f a:b", "[block format] \"a\"; expected one of");
}

TEST(NumberOptions, UnknownNamesListTheKnownOnes) {
  const CommandResult number = run_command("formats e99m99"), block = run_command("formats mxfp4:up");
  EXPECT_EQ(number.code, 2);
  EXPECT_EQ(block.code, 2);
  for (const Format& row : kFormats) EXPECT_NE(number.output.find(row.name), std::string::npos) << row.name;
  for (const BlockFormat& row : kBlockFormats)
    EXPECT_NE(block.output.find(row.name), std::string::npos) << row.name;
}

TEST(NumberOptions, PoliciesAreChecked) {
  expect_usage_error("inspect 1 --overflow clamp", "to_special,saturate,keep_infinity");
  expect_usage_error("inspect 1 --subnormals drop", "keep,flush");
  expect_usage_error("inspect 1 --random-bits 0", "1 to 32");
  expect_usage_error("inspect 1 --random-bits 33", "1 to 32");
}

}  // namespace
}  // namespace halftone
