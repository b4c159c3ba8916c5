// SPDX-License-Identifier: Apache-2.0
#include "train/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"

namespace halftone::train {
namespace {

using halftone::testing::message_of;
using halftone::testing::Scratch;
using ::testing::HasSubstr;

// A lock belongs to the opened folder: to open it again is what another process does.
TEST(FolderLock, IsGivenToOneAtATime) {
  const Scratch scratch;
  {
    const FolderLock first(scratch.path());
    const std::string message = message_of<FileError>([&] { FolderLock second(scratch.path()); });
    EXPECT_THAT(message, HasSubstr(scratch.path().string()));
    EXPECT_THAT(message, HasSubstr("another process trains in this folder"));
  }
  EXPECT_NO_THROW(FolderLock(scratch.path()));
}

TEST(FolderLock, OfNoFolderIsNone) {
  const FolderLock first("");
  EXPECT_NO_THROW(FolderLock(""));
}

}  // namespace
}  // namespace halftone::train
