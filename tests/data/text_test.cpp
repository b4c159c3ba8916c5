// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "data/scratch.h"
#include "halftone/data.h"

namespace halftone::data {
namespace {

using halftone::testing::message_of;
using halftone::testing::Scratch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path written(const Scratch& scratch, const std::string& name, const std::string& bytes) {
  std::ofstream(scratch / name, std::ios::binary) << bytes;
  return scratch / name;
}

TEST(TextData, AFileIsReadByteByByte) {
  const Scratch scratch;
  const std::string bytes("a\0\xff\n\r\xc3", 6);
  EXPECT_EQ(load_text(written(scratch, "x.txt", bytes)), bytes);
}

TEST(TextData, WhatIsNoTextIsRefused) {
  const Scratch scratch;
  EXPECT_THAT(message_of<FileError>([&] { load_text(written(scratch, "empty", "")); }), HasSubstr("empty"));
  EXPECT_THAT(message_of<FileError>([&] { load_text(scratch / "absent"); }), HasSubstr("absent"));
  EXPECT_THROW(load_text(scratch.path()), FileError);
}

TEST(TextData, TheKingJamesBibleIsThere) {
  std::string text;
  try {
    text = king_james_bible();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("bible-kjv"));
    GTEST_SKIP() << "the package bible-kjv is not installed";
  }
  EXPECT_EQ(text.find("Ge1:1 In the beginning God created the heaven and the earth."), 0u);
  EXPECT_NE(text.rfind("Rev22:21"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(TextData, TokensAreTwoBytesLowFirst) {
  const Scratch scratch;
  EXPECT_THAT(load_tokens(written(scratch, "x.bin", std::string("\x01\0\xff\xff\x00\x01", 6))),
              ElementsAre(1, 65535, 256));
}

TEST(TextData, TokenFilesThatCanNotBeAreRefused) {
  const Scratch scratch;
  EXPECT_THAT(message_of<FileError>([&] { load_tokens(written(scratch, "odd", "abc")); }),
              HasSubstr("3 bytes"));
  EXPECT_THROW(load_tokens(written(scratch, "none", "")), FileError);
  const auto file = written(scratch, "x.bin", std::string("\x01\0\x05\0", 4));
  EXPECT_THAT(message_of<FileError>([&] { load_tokens(file, 5); }), HasSubstr("token 5 at position 1"));
  EXPECT_EQ(load_tokens(file, 6).size(), 2u);
}

TEST(TextData, TheEndOfTheTextIsForValidation) {
  std::vector<std::int32_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  const TokenSplit split = split_tokens(tokens, 0.1);
  EXPECT_EQ(split.training.size(), 90u);
  EXPECT_EQ(split.training.back(), 89);
  EXPECT_EQ(split.validation.front(), 90);
  EXPECT_EQ(split.validation.back(), 99);
  EXPECT_NO_THROW(check_windows(split, 9));  // a window of 9 and its last target
  EXPECT_THAT(message_of<ValueError>([&] { check_windows(split, 10); }), HasSubstr("100 tokens, 10 of them"));
  EXPECT_THROW(check_windows(split_tokens(tokens, 0.95), 6), ValueError);
}

TEST(TextData, ATextIsDividedBetweenCharacters) {
  const TextSplit plain = split_text("0123456789", 0.2);
  EXPECT_EQ(plain.training, "01234567");
  EXPECT_EQ(plain.validation, "89");
  // The last two bytes begin within the character of three.
  const TextSplit split = split_text("0123456\xe2\x82\xac", 0.2);
  EXPECT_EQ(split.training, "0123456\xe2\x82\xac");
  EXPECT_EQ(split.validation, "");
  const TextSplit no_text = split_text(std::string(10, '\x80'), 0.5);  // three bytes further at most
  EXPECT_EQ(no_text.validation.size(), 2u);
}

TEST(TextData, WindowsHaveTheNextTokenAsTarget) {
  std::vector<std::int32_t> tokens(20);
  std::iota(tokens.begin(), tokens.end(), 100);
  const std::int64_t starts[] = {0, 16, 3};
  const Batch batch = gather_windows(tokens, 3, starts);
  EXPECT_THAT(batch.inputs.to_vector(), ElementsAre(100, 101, 102, 116, 117, 118, 103, 104, 105));
  EXPECT_THAT(batch.targets.to_vector(), ElementsAre(101, 102, 103, 117, 118, 119, 104, 105, 106));
  for (const std::int64_t start : {-1, 17})
    EXPECT_THROW(gather_windows(tokens, 3, std::span(&start, 1)), ValueError);
}

}  // namespace
}  // namespace halftone::data
