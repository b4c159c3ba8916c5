// SPDX-License-Identifier: Apache-2.0
#include "data/npy_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"

namespace halftone::data {
namespace {

using halftone::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDictionary = "{'descr': '<f2', 'fortran_order': False, 'shape': (12, 3), }   \n";

std::string refusal(const std::string& text) {
  return message_of<FileError>([&] { parse_npy_dictionary("a.npy", text); });
}

TEST(NpyHead, WhatNumpyWritesIsRead) {
  const NpyHeader head = parse_npy_dictionary("a.npy", kDictionary);
  EXPECT_EQ(head.dtype, float16);
  EXPECT_THAT(head.shape, ElementsAre(12, 3));
  EXPECT_FALSE(head.is_untyped);
}

TEST(NpyHead, TheDictionaryMayBeWrittenInAnyWayThatPythonReads) {
  for (const char* text : {"{\"shape\":(2,1),\"descr\":\"|u1\",\"fortran_order\":False}",
                           "{ 'fortran_order' : False,\n'shape' : ( 2 , 1 , ) ,\t'descr' : '<u1' , } \n"}) {
    const NpyHeader head = parse_npy_dictionary("a.npy", text);
    EXPECT_THAT(head.shape, ElementsAre(2, 1));
    EXPECT_EQ(head.dtype, uint8);
  }
  const NpyHeader scalar =
      parse_npy_dictionary("a.npy", "{'descr': '=f4', 'fortran_order': False, 'shape': ()}");
  EXPECT_THAT(scalar.shape, IsEmpty());
}

TEST(NpyHead, BytesOfUnknownTypesAreMarkedAsSuch) {
  const NpyHeader head =
      parse_npy_dictionary("a.npy", "{'descr': '|V1', 'fortran_order': False, 'shape': (3,)}");
  EXPECT_TRUE(head.is_untyped);
  EXPECT_EQ(head.dtype, uint8);
}

TEST(NpyHead, WhatIsNotReadIsRefusedWithPlaceAndRemedy) {
  const auto of = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}";
  };
  struct Case {
    std::string head;
    const char* message;
  };
  const Case cases[] = {
      {of("'>f4'", "False", "(1,)"),
       "byte 20: the big-endian type '>f4'; expected little-endian data; try .astype('<f4')"},
      {of("'<f4'", "True", "(1,)"),
       "column-major order; expected row-major order; try numpy.ascontiguousarray"},
      {of("'<c8'", "False", "(1,)"), "the type '<c8'"},
      {of("'|b1'", "False", "(1,)"), "the type '|b1'"},
      {of("'|O'", "False", "(1,)"), "the type '|O'"},
      {of("''", "False", "(1,)"), "the type ''"},
      {of("'f4'", "False", "(1,)"), "the type 'f4'"},
      {of("[('a', '<f4')]", "False", "(1,)"), "a structured type"},
      {of("'<f4'", "0", "(1,)"), "neither True nor False"},
      {of("'<f4'", "False", "(1)"), "a size without a comma"},
      {of("'<f4'", "False", "[1]"), "expected '('"},
      {of("'<f4'", "False", "(-1,)"), "no size"},
      {of("'<f4'", "False", "(99999999999999999999,)"), "no size"},
      {"{'descr': '<f4', 'fortran_order': False}", "expected descr, fortran_order and shape"},
      {of("'<f4'", "False", "(1,), 'more': 1"), "the key 'more'"},
      {of("'<f4'", "False", "(1,), 'descr': '<f4'"), "the key 'descr'"},
      {of("'<f4'", "False", "(1,)") + " 1", "something behind the dictionary"},
      {"", "expected '{'"},
  };
  for (const Case& c : cases) EXPECT_THAT(refusal(c.head), HasSubstr(c.message)) << c.head;
}

TEST(NpyHead, ADamagedDictionaryIsAnErrorAndNothingWorse) {
  int read = 0, refused = 0;
  const auto attempt = [&](const std::string& text) {
    try {
      const NpyHeader head = parse_npy_dictionary("a.npy", text);
      for (const std::int64_t size : head.shape) EXPECT_GE(size, 0);
      ++read;
    } catch (const FileError&) {
      ++refused;
    }
  };
  const std::size_t end = kDictionary.find('}');
  for (std::size_t length = 0; length <= end; ++length) attempt(kDictionary.substr(0, length));
  EXPECT_EQ(refused, static_cast<int>(end) + 1);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    std::string text = kDictionary;
    for (std::uint64_t change = 0; change <= random_bits(1, i, 0) % 3; ++change)
      text[random_bits(1, i, 2 * change + 1) % text.size()] =
          static_cast<char>(random_bits(1, i, 2 * change + 2));
    attempt(text);
  }
  EXPECT_GT(read, 20);  // a changed size, or a change among the spaces
}

TEST(NpyHead, WhatIsWrittenIsReadAgain) {
  for (const char* name : {"float16", "float32", "float64", "int8", "uint64"})
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {0}, {3, 1, 4}}) {
      const NpyHeader head = parse_npy_dictionary("a.npy", npy_dictionary(shape, find_dtype(name)));
      EXPECT_EQ(head.dtype, find_dtype(name));
      EXPECT_EQ(head.shape, shape);
    }
  EXPECT_EQ(npy_dictionary({7}, uint8), "{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }");
  EXPECT_THROW(npy_dictionary({7}, bfloat16), DTypeError);
}

}  // namespace
}  // namespace halftone::data
