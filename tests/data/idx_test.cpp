// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "halftone/data.h"

namespace halftone::data {
namespace {

using halftone::testing::fuzz;
using halftone::testing::gzip;
using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Written down from the format's definition: magic, two sizes (2, 3), six bytes.
const std::string kSmall("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x01\x02\x03\xfd\xfe\xff", 18);

void expect_small(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), uint8);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_THAT(tensor.to_vector(), ElementsAre(1, 2, 3, 253, 254, 255));
}

TEST(Idx, APlainFileIsRead) {
  const Scratch scratch;
  write_bytes(scratch / "a", kSmall);
  expect_small(load_idx(scratch / "a"));
}

TEST(Idx, ACompressedFileIsRead) {
  const Scratch scratch;
  write_bytes(scratch / "a.gz", gzip(kSmall));
  expect_small(load_idx(scratch / "a.gz"));
}

TEST(Idx, ACompressedFileMayHaveSeveralMembers) {
  const Scratch scratch;
  write_bytes(scratch / "a.gz", gzip(kSmall.substr(0, 5)) + gzip(kSmall.substr(5)));
  expect_small(load_idx(scratch / "a.gz"));
}

TEST(Idx, AWrittenFileHasTheBytesOfTheFormat) {
  const Scratch scratch;
  save_idx(scratch / "a", from_values(std::vector<double>{1, 2, 3, 253, 254, 255}, {2, 3}, uint8));
  EXPECT_EQ(read_bytes(scratch / "a"), kSmall);
  EXPECT_THROW(save_idx(scratch / "b", zeros({2}, float32)), DTypeError);
  EXPECT_THROW(save_idx(scratch / "no folder" / "b", zeros({2}, uint8)), FileError);
}

TEST(Idx, AnEmptyAxisIsAllowed) {
  const Scratch scratch;
  write_bytes(scratch / "a", std::string("\0\0\x08\x01\0\0\0\0", 8));
  EXPECT_EQ(load_idx(scratch / "a").shape(), (Shape{0}));
}

TEST(Idx, AnErrorNamesTheFileAndThePlace) {
  const Scratch scratch;
  const auto error = [&](const std::string& bytes) {
    write_bytes(scratch / "bad", bytes);
    const std::string message = message_of<FileError>([&] { load_idx(scratch / "bad"); });
    EXPECT_THAT(message, HasSubstr((scratch / "bad").string()));
    return message;
  };
  EXPECT_THAT(error(""), HasSubstr("byte 0: the file ends after 0 of 4 bytes"));
  EXPECT_THAT(error(std::string("\0\0\x0d\x01\0\0\0\x01\0\0\0\0", 12)), HasSubstr("byte 0: 00 00 0d 01"));
  EXPECT_THAT(error(std::string("\0\0\x08\x07", 4)), HasSubstr("rank R from 1 to 6"));
  EXPECT_THAT(error(kSmall.substr(0, 6)), HasSubstr("byte 4: the file ends after 2 of 4 bytes"));
  EXPECT_THAT(error(kSmall.substr(0, 17)), HasSubstr("byte 17: the file ends"));
  EXPECT_THAT(error(kSmall + "x"), HasSubstr("byte 18: more data"));
  EXPECT_THAT(error(gzip(kSmall.substr(0, 17))), HasSubstr("decompressed byte 17: the file ends"));
  EXPECT_THAT(error(gzip(kSmall + "x")), HasSubstr("decompressed byte 18: more data"));
  const std::string compressed = gzip(kSmall);
  EXPECT_THAT(error(compressed.substr(0, compressed.size() - 4)), HasSubstr("the file is truncated"));
  EXPECT_THAT(error(compressed + "x"), HasSubstr("more data after the gzip data"));
  std::string wrong_checksum = compressed;
  wrong_checksum[wrong_checksum.size() - 6] ^= 1;
  EXPECT_THAT(error(wrong_checksum), HasSubstr("incorrect data check"));
  EXPECT_THAT(message_of<FileError>([&] { load_idx(scratch / "missing"); }), HasSubstr("missing"));
  EXPECT_THAT(message_of<FileError>([&] { load_idx(scratch.path()); }), HasSubstr("not a regular file"));
}

TEST(Idx, SizesBeyondTheFileAllocateNothing) {
  const Scratch scratch;
  std::string huge("\0\0\x08\x06", 4);
  huge += std::string(24, '\xff');
  write_bytes(scratch / "huge", huge + "data");
  EXPECT_THAT(message_of<FileError>([&] { load_idx(scratch / "huge"); }),
              HasSubstr("more than the file can hold"));
  write_bytes(scratch / "huge.gz", gzip(huge + "data"));
  EXPECT_THAT(message_of<FileError>([&] { load_idx(scratch / "huge.gz"); }),
              HasSubstr("more than the file can hold"));
}

TEST(Idx, SizesOtherThanZeroMustHaveAProduct) {
  const Scratch scratch;
  const std::string four(16, '\xff'), zero(4, '\0'), head("\0\0\x08\x05", 4);
  for (const std::string& sizes : {four + zero, zero + four, four.substr(0, 8) + zero + four.substr(8)})
    for (const std::string& bytes : {head + sizes, gzip(head + sizes)}) {
      write_bytes(scratch / "sizes", bytes);
      const std::string message = message_of<FileError>([&] { load_idx(scratch / "sizes"); });
      EXPECT_THAT(message, HasSubstr((scratch / "sizes").string()));
      EXPECT_THAT(message, HasSubstr("byte 4: the sizes ("));
      EXPECT_THAT(message, HasSubstr("below 2^63"));
    }
  // (2^32 - 1) * 2^31 is below 2^63.
  write_bytes(scratch / "sizes", std::string("\0\0\x08\x03\xff\xff\xff\xff\0\0\0\0\x80\0\0\0", 16));
  EXPECT_EQ(load_idx(scratch / "sizes").shape(), (Shape{0xFFFFFFFF, 0, 0x80000000}));
}

TEST(Idx, NoMutilatedFileCrashes) {
  const Scratch scratch;
  const std::string compressed = gzip(kSmall);
  EXPECT_GE(fuzz(scratch / "a", kSmall, 1, 1000, load_idx), 18);
  EXPECT_GE(fuzz(scratch / "a.gz", compressed, 2, 1000, load_idx), static_cast<int>(compressed.size()));
}

}  // namespace
}  // namespace halftone::data
