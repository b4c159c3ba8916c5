// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/convert_files.h"

namespace halftone {
namespace {

TEST(ConvertSink, NumpyGetsItsOwnTypesAndCodesOfTheOthers) {
  const ConvertFiles files;
  files.save("w.npy", {1, -2});
  const std::vector<std::array<const char*, 3>> cases = {
      {"float16", "float16", "float16"},
      {"float64", "float64", "float64"},
      {"int8", "int8", "int8"},
      {"uint16", "uint16", "uint16"},
      {"tfloat32", "float32", "tfloat32 as float32"},
      {"bfloat16", "uint16", "codes of bfloat16 as uint16"},
      {"float4_e2m1fn", "uint8", "codes of float4_e2m1fn as uint8"},
      {"int4", "uint8", "codes of int4 as uint8"},
      {"e8m20", "uint32", "codes of e8m20 as uint32"},
      {"e11m40", "uint64", "codes of e11m40 as uint64"},
  };
  for (const auto& [to, stored, content] : cases) {
    const auto report = files.json("w.npy -o o.npy --to " + std::string(to));
    const data::NpyArray array = files.load("o.npy");
    EXPECT_EQ(array.dtype, find_dtype(stored)) << to;
    EXPECT_EQ(report["written"][0]["content"], content);
    EXPECT_EQ(report["written"][0]["bytes"], files.bytes("o.npy").size());
    const DType dtype = find_dtype(to);
    for (std::int64_t i = 0; i < 2; ++i)
      EXPECT_EQ(decode(dtype.format(), load_code(dtype, array.bytes.data(), i)),
                dtype == find_dtype("uint16") && i == 1 ? 0
                : i == 0                                ? 1
                                                        : -2)
          << to;
  }
}

TEST(ConvertSink, AnyOtherNameIsARawFile) {
  const ConvertFiles files;
  files.save("w.npy", {1, -2});
  const auto report = files.json("w.npy -o codes.bin --to float8_e5m2");
  EXPECT_EQ(files.bytes("codes.bin"), "\x3c\xc0");
  EXPECT_EQ(report["written"][0]["content"], "raw float8_e5m2");
}

}  // namespace
}  // namespace halftone
