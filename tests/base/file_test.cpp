// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"

namespace halftone {
namespace {

using halftone::testing::message_of;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::HasSubstr;

TEST(ReadFile, GivesEveryByte) {
  const Scratch scratch;
  const std::string bytes("\0\n\r\xff", 4);
  write_bytes(scratch / "f", bytes);
  EXPECT_EQ(read_file(scratch / "f", "a file"), bytes);
  write_bytes(scratch / "empty", "");
  EXPECT_EQ(read_file(scratch / "empty", "a file"), "");
}

TEST(ReadFile, NamesWhatIsNoFile) {
  const Scratch scratch;
  EXPECT_THAT(message_of<FileError>([&] { read_file(scratch.path(), "a tokenizer.json"); }),
              HasSubstr("not a regular file; expected a tokenizer.json"));
  EXPECT_THAT(message_of<FileError>([&] { read_file(scratch / "absent", "a text"); }),
              HasSubstr((scratch / "absent").string()));
}

TEST(JsonDepth, CountsWhatIsOpenAtOnce) {
  EXPECT_EQ(json_depth("1"), 0u);
  EXPECT_EQ(json_depth("[[], {\"a\": []}]"), 3u);
  EXPECT_EQ(json_depth(R"({"[[[\\\"[[": "]["})"), 1u);  // not in a name or text
  EXPECT_EQ(json_depth("]]]["), 1u);
  EXPECT_EQ(json_depth(std::string(300000, '[')), 300000u);
}

}  // namespace
}  // namespace halftone
