// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "data/scratch.h"
#include "halftone/data.h"

namespace halftone::data {
namespace {

using halftone::testing::fuzz;
using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As numpy 2.4 saves numpy.array([[1, -2, 0.5]], '<f2').
std::string saved_by_numpy() {
  std::string text = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 3), }";
  text += std::string(117 - text.size(), ' ') + "\n";
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + text + std::string("\x00\x3c\x00\xc0\x00\x38", 6);
}

// A file with that dictionary and so many bytes of data.
std::string with_head(const std::string& dictionary, std::size_t bytes) {
  std::string head("\x93NUMPY\x01\0", 8);
  head += static_cast<char>(dictionary.size() & 0xFF);
  head += static_cast<char>(dictionary.size() >> 8);
  return head + dictionary + std::string(bytes, '\0');
}

std::string refusal(const std::string& bytes) {
  const Scratch scratch;
  write_bytes(scratch / "a.npy", bytes);
  const std::string of_head = message_of<FileError>([&] { read_npy_header(scratch / "a.npy"); });
  EXPECT_EQ(message_of<FileError>([&] { read_npy(scratch / "a.npy"); }), of_head);
  return of_head;
}

TEST(Npy, AFileOfNumpyIsRead) {
  const Scratch scratch;
  write_bytes(scratch / "a.npy", saved_by_numpy());
  const NpyArray array = read_npy(scratch / "a.npy");
  EXPECT_THAT(array.shape, ElementsAre(1, 3));
  EXPECT_EQ(array.dtype, float16);
  EXPECT_EQ(array.count(), 3);
  EXPECT_EQ(decode(float16.format(), load_code(float16, array.bytes.data(), 1)), -2);
  const NpyHeader head = read_npy_header(scratch / "a.npy");
  EXPECT_EQ(head.offset, 128);
  EXPECT_EQ(head.count, 3);
  EXPECT_FALSE(head.is_untyped);
}

TEST(Npy, WhatIsWrittenIsWhatNumpyWrites) {
  const Scratch scratch;
  write_bytes(scratch / "a.npy", saved_by_numpy());
  write_npy(scratch / "b.npy", read_npy(scratch / "a.npy"));
  EXPECT_EQ(read_bytes(scratch / "b.npy"), saved_by_numpy());
}

TEST(Npy, EveryTypeAndRankComesBack) {
  const Scratch scratch;
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {0}, {7}, {2, 0, 3}, {1, 2, 3, 1, 2, 1, 1, 2}};
  for (const char* name : {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
                           "uint16", "uint32", "uint64"})
    for (const auto& shape : shapes) {
      std::size_t count = 1;
      for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
      const DType dtype = find_dtype(name);
      NpyArray array{shape, dtype, std::vector<std::byte>(count * static_cast<std::size_t>(dtype.bytes()))};
      for (std::size_t i = 0; i < array.bytes.size(); ++i)
        array.bytes[i] = static_cast<std::byte>(37 * i + 1);
      write_npy(scratch / "a.npy", array);
      EXPECT_EQ(std::filesystem::file_size(scratch / "a.npy") % 64, array.bytes.size() % 64)
          << "data is aligned";
      const NpyArray back = read_npy(scratch / "a.npy");
      EXPECT_EQ(back.shape, shape) << name;
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.bytes, array.bytes);
    }
}

TEST(Npy, BytesOfTypesThatNumpyDoesNotKnowAreCodes) {
  const Scratch scratch;
  write_bytes(scratch / "a.npy", with_head("{'descr': '<V2', 'fortran_order': False, 'shape': (3,)}", 6));
  EXPECT_TRUE(read_npy_header(scratch / "a.npy").is_untyped);
  EXPECT_EQ(read_npy(scratch / "a.npy").dtype, find_dtype("uint16"));
}

TEST(Npy, SizesMustBeThoseOfTheFile) {
  const auto of = [](const std::string& shape) {
    return with_head("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", 4);
  };
  EXPECT_THAT(refusal(of("(4611686018427387904, 4611686018427387904)")), HasSubstr("more: the shape is"));
  EXPECT_THAT(refusal(of("(3,)")), HasSubstr("4 bytes of data from byte "));
  EXPECT_THAT(refusal(of("(3,)")), HasSubstr("the file is truncated"));
  EXPECT_THAT(refusal(of("(0,)")), HasSubstr("expected 0 for the shape (0,)"));
  EXPECT_THAT(refusal(with_head("", 4)), HasSubstr("byte 10: the head ends; expected '{'"));
}

TEST(Npy, OtherFilesAreRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("no numpy magic"));
  EXPECT_THAT(refusal("PK\x03\x04 an .npz archive"), HasSubstr("no numpy magic"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x02\0\x76\0\0\0", 12)),
              HasSubstr("version 2.0; expected version 1.0"));
  EXPECT_THAT(message_of<FileError>([] { read_npy("/nonexistent.npy"); }), HasSubstr("[/nonexistent.npy]"));
  EXPECT_THAT(message_of<FileError>([] { read_npy("/"); }), HasSubstr("not a regular file"));
}

TEST(Npy, ATruncatedOrDamagedFileIsAnErrorAndNothingWorse) {
  const Scratch scratch;
  const std::string bytes = saved_by_numpy();
  const int thrown = fuzz(scratch / "a.npy", bytes, 11, 800, [&](const std::filesystem::path& file) {
    const NpyArray array = read_npy(file);
    EXPECT_EQ(static_cast<std::int64_t>(array.bytes.size()), array.count() * array.dtype.bytes());
    EXPECT_LE(array.bytes.size(), bytes.size());
  });
  EXPECT_GE(thrown, static_cast<int>(bytes.size()));  // every truncation, and many of the others
}

TEST(Npy, WhatNumpyCanNotHoldIsNotWritten) {
  const Scratch scratch;
  NpyArray array{{2}, bfloat16, std::vector<std::byte>(4)};
  EXPECT_THAT(message_of<DTypeError>([&] { write_npy(scratch / "a.npy", array); }), HasSubstr("bfloat16"));
  array.dtype = float32;
  EXPECT_THAT(message_of<ShapeError>([&] { write_npy(scratch / "a.npy", array); }),
              HasSubstr("shape (2,) of float32 with 4 bytes"));
  array.shape = {-1};
  EXPECT_THAT(message_of<ShapeError>([&] { write_npy(scratch / "a.npy", array); }), HasSubstr("shape (-1,)"));
  array.shape = {1};
  EXPECT_THAT(message_of<FileError>([&] { write_npy("/nonexistent/a.npy", array); }),
              HasSubstr("can not be written"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(Npy, ShapesReadAsInPython) {
  EXPECT_EQ(shape_text({}), "()");
  EXPECT_EQ(shape_text({3}), "(3,)");
  EXPECT_EQ(shape_text({3, 0, 4}), "(3, 0, 4)");
}

}  // namespace
}  // namespace halftone::data
