// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"

namespace halftone {
namespace {

using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::HasSubstr;

TEST(AtomicFile, AppearsWithCommitAndReplacesTheOldOne) {
  const Scratch scratch;
  write_bytes(scratch / "f", "old");
  {
    AtomicFile file(scratch / "f");
    file.write("ne", 2);
    file.write("w", 1);
    EXPECT_EQ(read_bytes(scratch / "f"), "old");
    file.commit();
    EXPECT_EQ(read_bytes(scratch / "f"), "new");
  }
  EXPECT_EQ(read_bytes(scratch / "f"), "new");
  EXPECT_FALSE(std::filesystem::exists(scratch / "f.tmp"));
}

TEST(AtomicFile, WithoutCommitNothingChanges) {
  const Scratch scratch;
  write_bytes(scratch / "f", "old");
  { AtomicFile(scratch / "f").write("new", 3); }
  EXPECT_EQ(read_bytes(scratch / "f"), "old");
  EXPECT_FALSE(std::filesystem::exists(scratch / "f.tmp"));
}

TEST(AtomicFile, WhatAKilledProcessLeftBehindIsInNobodysWay) {
  const Scratch scratch;
  write_bytes(scratch / "f.tmp", "half a file, longer than the new one");
  AtomicFile file(scratch / "f");
  file.write("new", 3);
  file.commit();
  EXPECT_EQ(read_bytes(scratch / "f"), "new");
}

TEST(AtomicFile, AnErrorNamesTheFileAndItsReason) {
  const Scratch scratch;
  const std::string message = message_of<FileError>([&] { AtomicFile file(scratch / "no folder" / "f"); });
  EXPECT_THAT(message, HasSubstr("no folder/f]"));
  EXPECT_THAT(message, HasSubstr("No such file or directory"));
}

TEST(AtomicFile, AFolderIsRefusedBeforeAnythingIsWritten) {
  const Scratch scratch;
  const std::string message = message_of<FileError>([&] { AtomicFile file(scratch.path()); });
  EXPECT_THAT(message, HasSubstr(scratch.path().string() + "]"));
  EXPECT_THAT(message, HasSubstr("Is a directory"));
}

TEST(WriteFile, HasEveryByteAndReplacesTheOldOne) {
  const Scratch scratch;
  write_bytes(scratch / "f", "old, and longer than the new one");
  const std::string bytes("\0\n\r\xff", 4);
  write_file(scratch / "f", bytes);
  EXPECT_EQ(read_bytes(scratch / "f"), bytes);
  EXPECT_FALSE(std::filesystem::exists(scratch / "f.tmp"));
  write_file(scratch / "f", "");
  EXPECT_EQ(read_bytes(scratch / "f"), "");
  EXPECT_THAT(message_of<FileError>([&] { write_file(scratch / "no folder" / "f", "text"); }),
              HasSubstr("no folder/f]"));
}

}  // namespace
}  // namespace halftone
