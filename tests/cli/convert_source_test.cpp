// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/convert_files.h"

namespace halftone {
namespace {

using ::testing::HasSubstr;

// A version 1.0 file with that type and shape.
std::string npy(const std::string& descr, const std::string& shape, const std::string& bytes) {
  const std::string head = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  std::string out("\x93NUMPY\x01\0", 8);
  out += static_cast<char>(head.size());
  out += '\0';
  return out + head + bytes;
}

TEST(ConvertSource, ANpyFileSaysWhatItHolds) {
  const ConvertFiles files;
  const std::vector<std::pair<std::string, std::string>> types = {{"<f2", "float16"}, {"<f8", "float64"},
                                                                  {"|i1", "int8"},    {"<i2", "int16"},
                                                                  {"<u4", "uint32"},  {"<i8", "int64"}};
  for (const auto& [descr, name] : types) {
    const std::size_t size = static_cast<std::size_t>(descr[2] - '0');
    files.write("a.npy", npy(descr, "(2, 1)", std::string(2 * size, '\0')));
    const auto report = files.json("a.npy --to float32");
    EXPECT_EQ(report["from"], name);
    EXPECT_EQ(report["shape"], (std::vector<int>{2, 1}));
    EXPECT_EQ(report["count"], 2);
  }
}

TEST(ConvertSource, ANpyFileIsKnownByItsFirstBytesToo) {
  const ConvertFiles files;
  files.write("no_ending", npy("<f4", "(1,)", std::string("\0\0\x80\x3f", 4)));
  EXPECT_EQ(files.json("no_ending --to float16")["from"], "float32");
  files.write("a.npy", "not at all");
  EXPECT_THAT(files.run("a.npy --to float16 --from uint8").output, HasSubstr("no numpy magic"));
}

TEST(ConvertSource, UnsignedIntegersMayBeCodes) {
  const ConvertFiles files;
  files.write("a.npy", npy("|u1", "(2,)", "\x38\x7e"));
  EXPECT_EQ(files.json("a.npy --to float32 -o b.npy")["exponents"], (nlohmann::json{{"5", 1}, {"6", 1}}));
  EXPECT_EQ(files.json("a.npy --from float8_e4m3fn --to float32 -o b.npy")["exponents"],
            (nlohmann::json{{"0", 1}, {"8", 1}}));  // 1 and 448
  EXPECT_EQ(files.json("a.npy --from binary8p4se --to float32")["from"], "binary8p4se");
  EXPECT_EQ(files.run("a.npy --from bfloat16 --to float32").code, 1);
}

TEST(ConvertSource, BytesWithoutATypeNeedFrom) {
  const ConvertFiles files;
  files.write("a.npy", npy("<V2", "(1,)", std::string("\x80\x3f", 2)));
  EXPECT_THAT(files.run("a.npy --to float32").output,
              HasSubstr("2 bytes whose type numpy does not know, so --from"));
  EXPECT_EQ(files.json("a.npy --from bfloat16 --to float32")["exponents"], (nlohmann::json{{"0", 1}}));
}

TEST(ConvertSource, RawCodesTakeTheBytesOfTheirFormat) {
  const ConvertFiles files;
  files.write("raw", std::string(24, '\x01'));
  EXPECT_EQ(files.json("raw --from float4_e2m1fn --to float32")["count"], 24);
  EXPECT_EQ(files.json("raw --from binary16p11se --to float32")["count"], 12);
  EXPECT_EQ(files.json("raw --from tfloat32 --to float32")["count"], 6);
  EXPECT_EQ(files.json("raw --from e8m40 --to float32")["count"], 3);
  files.write("none", "");
  EXPECT_EQ(files.json("none --from float16 --to float32")["count"], 0);
}

}  // namespace
}  // namespace halftone
