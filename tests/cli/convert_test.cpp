// SPDX-License-Identifier: Apache-2.0
//
// The command as a whole: what it writes where, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/convert_files.h"

namespace halftone {
namespace {

using ::testing::HasSubstr;

TEST(ConvertCommand, WithoutOutItOnlyReports) {
  const ConvertFiles files;
  files.save("w.npy", noise(100));
  EXPECT_THAT(files.convert("w.npy --to float8_e4m3fn"), HasSubstr("signal to noise"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(files.folder()), {}), 1);
}

TEST(ConvertCommand, AnArrayGoesThereAndBack) {
  const ConvertFiles files;
  files.save("w.npy", noise(60), {3, 4, 5});
  files.convert("w.npy --to bfloat16 -o narrow.npy");
  files.convert("narrow.npy --from bfloat16 --to float32 -o wide.npy");
  files.convert("narrow.npy --from bfloat16 --to bfloat16 -o raw");
  files.convert("raw --from bfloat16 --to float32 -o wide.raw");
  const data::NpyArray narrow = files.load("narrow.npy"), wide = files.load("wide.npy");
  EXPECT_EQ(narrow.shape, (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(wide.shape, narrow.shape);
  for (std::int64_t i = 0; i < 60; ++i)
    EXPECT_EQ(decode(float32.format(), code_at(wide, i)), decode(bfloat16.format(), code_at(narrow, i)));
  EXPECT_EQ(files.bytes("raw"),
            std::string(reinterpret_cast<const char*>(narrow.bytes.data()), narrow.bytes.size()));
  EXPECT_EQ(files.bytes("wide.raw"),
            std::string(reinterpret_cast<const char*>(wide.bytes.data()), wide.bytes.size()));
}

TEST(ConvertCommand, OddArraysAreArrays) {
  const ConvertFiles files;
  files.save("empty.npy", {}, {0, 5});
  files.save("blank.npy", {}, {5, 0});
  data::write_npy(files.path("scalar.npy"),
                  {{}, float32, std::vector<std::byte>(4, std::byte{0x40})});  // 3.004
  for (const char* to : {"float16", "mxfp4", "nvfp4", "int8"}) {
    const std::string target = to;
    EXPECT_THAT(files.convert("empty.npy -o o.npy --to " + target), HasSubstr("0 values"));
    EXPECT_THAT(files.convert("blank.npy -o o.npy --to " + target), HasSubstr("0 values"));
    EXPECT_THAT(files.convert("scalar.npy -o o.npy --to " + target), HasSubstr("1 value:"));
  }
  files.convert("scalar.npy -o o.npy --to float16");
  EXPECT_TRUE(files.load("o.npy").shape.empty());
  EXPECT_EQ(decode(float16.format(), code_at(files.load("o.npy"), 0)), 3.00390625);
}

TEST(ConvertCommand, RefusesWhatItCanNotDo) {
  const ConvertFiles files;
  files.save("w.npy", noise(10));
  files.write("raw", "abc");
  struct Case {
    const char *arguments, *message;
    int code;
  };
  const Case cases[] = {
      {"missing --to float16", "[missing] no such file", 1},
      {". --to float16", "not a regular file", 1},
      {"/dev/null --from float16 --to float32", "not a regular file", 1},
      {"w.npy", "--to is required", 2},
      {"--to float16", "FILE is required", 2},
      {"w.npy --to float99", "\"float99\"", 2},
      {"w.npy --to mxfp4:down", "\"down\" (floor, ceil, rceil, even, nearest)", 2},
      {"w.npy --to float32:1", "\"float32\"", 2},
      {"w.npy --to float16 --from mxfp4", "mxfp4 is a block format", 2},
      {"w.npy --to float16 --from float16", "an array of float32; expected float16, or its codes", 1},
      {"raw --to float16", "--from must say which format", 2},
      {"raw --from float16 --to float32", "3 bytes; expected a multiple of the 2", 1},
      {"w.npy --to mxfp4 --overflow to_special", "the elements of blocks saturate", 2},
      {"w.npy --to mxfp4 --subnormals flush", "keep subnormals", 2},
      {"w.npy --to float16 --rounding up", "nearest_even,nearest_away", 2},
      {"w.npy --to float16 --seed -1", "--seed: -1; expected 0 to 9223372036854775807", 2},
      {"w.npy --to float16 -o w.npy", "is the file that is being read", 2},
      {"w.npy --to float16 -o none/w.npy", "none/w.npy", 1},
      {"w.npy --to float16 more", "more", 2},
  };
  for (const Case& c : cases) {
    const CommandResult result = files.run(c.arguments);
    EXPECT_EQ(result.code, c.code) << c.arguments << "\n" << result.output;
    EXPECT_THAT(result.output, HasSubstr(c.message)) << c.arguments;
  }
  files.run("w.npy --to mxfp4 -o x");
  files.run("x.scales --from uint8 --to float16 -o x");  // would overwrite x, not what it reads
  EXPECT_THAT(files.run("x.scales --from uint8 --to mxfp4 -o x").output, HasSubstr("x.scales is the file"));
}

TEST(ConvertCommand, AFailureLeavesNothingBehind) {
  const ConvertFiles files;
  files.save("w.npy", noise(10));
  files.write("bad.npy", files.bytes("w.npy").substr(0, 140));
  EXPECT_EQ(files.run("bad.npy --to float16 -o out.npy").code, 1);
  EXPECT_EQ(files.run("w.npy --to mxfp4:down -o out.npy").code, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(files.folder()), {}), 2);
}

TEST(ConvertCommand, HelpHasExamplesThatWork) {
  const ConvertFiles files;
  files.save("weights.npy", noise(640), {10, 64});
  const std::string help = shown("convert --help");
  EXPECT_THAT(help, HasSubstr("--subnormals"));
  int examples = 0;
  for (const std::string& line : lines_of(help)) {
    if (line.rfind("  halftone convert ", 0) != 0) continue;
    const std::size_t comment = line.find("   ", 20);
    files.convert(line.substr(19, std::min(comment, line.find('|')) - 19));
    ++examples;
  }
  EXPECT_GE(examples, 5);
}

}  // namespace
}  // namespace halftone
