// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "data/tokenizer_model.h"

namespace halftone::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string_view> split(std::string_view pattern, std::string_view text) {
  std::vector<std::string_view> pieces;
  Regex(pattern).split(text, pieces);
  return pieces;
}

TEST(Regex, CutsMatchesAndWhatIsBetween) {
  EXPECT_THAT(split("b+", "abbcb"), ElementsAre("a", "bb", "c", "b"));
  EXPECT_THAT(split("b*", "abbc"), ElementsAre("a", "bb", "c"));
  EXPECT_THAT(split("x", "abc"), ElementsAre("abc"));
  EXPECT_THAT(split("x", ""), IsEmpty());
  std::vector<std::string_view> whole;
  Regex().split("a b", whole);
  EXPECT_THAT(whole, ElementsAre("a b"));
}

TEST(Regex, SplitsAsGpt2) {
  EXPECT_THAT(split(kGpt2Pattern, "I'll see  12 caf\xC3\xA9s!\n"),
              ElementsAre("I", "'ll", " see", " ", " 12", " caf\xC3\xA9s", "!", "\n"));
}

TEST(Regex, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(split(R"(\s+)",
                    "a\xC2\x85"
                    "b"),
              ElementsAre("a", "\xC2\x85", "b"));
  EXPECT_THAT(split(R"(\s+)",
                    "a\xE1\xA0\x8E"
                    "b"),
              ElementsAre("a\xE1\xA0\x8E"
                          "b"));  // U+180E is none
  EXPECT_THAT(split(R"(\S+)", "a b"), ElementsAre("a", " ", "b"));
}

TEST(Regex, BytesThatAreNotTextStay) {
  EXPECT_THAT(split(R"(\p{L}+)",
                    "ab\xFF\xC3"
                    "cd"),
              ElementsAre("ab", "\xFF\xC3", "cd"));
}

TEST(Regex, RefusesAWrongPattern) {
  EXPECT_THAT(testing::message_of<ValueError>([] { Regex("(a"); }), HasSubstr("wrong near character 2"));
}

}  // namespace
}  // namespace halftone::data
