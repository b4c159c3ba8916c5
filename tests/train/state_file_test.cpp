// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "halftone/ops.h"
#include "halftone/train.h"

namespace halftone::train {
namespace {

using halftone::testing::bytes_of;
using halftone::testing::fuzz;
using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string with_header(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i & 0xff);
  return bytes + header + data;
}

TEST(StateFile, AFileWrittenByHandIsRead) {
  const Scratch scratch;
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},)"
      R"("a":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]}}  )";
  write_bytes(scratch / "s", with_header(header, std::string("\x80\x3f\0\0\0\x40\0\0\x40\xc0", 10)));
  const State state = load_state(scratch / "s");
  EXPECT_THAT(state.metadata, ElementsAre(Pair("format", "pt")));
  ASSERT_EQ(state.tensors.size(), 2u);
  EXPECT_EQ(state.tensors[0].name, "b");
  EXPECT_EQ(state.tensors[0].value.dtype(), float32);
  EXPECT_THAT(state.tensors[0].value.to_vector(), ElementsAre(2, -3));
  EXPECT_EQ(state.tensors[1].value.shape(), (Shape{1, 1}));
  EXPECT_EQ(state.tensors[1].value.dtype(), bfloat16);
  EXPECT_THAT(state.tensors[1].value.to_vector(), ElementsAre(1));
}

TEST(StateFile, AWrittenFileHasTheBytesOfTheLayout) {
  const Scratch scratch;
  save_state(scratch / "s", {.tensors = {{"flag", from_values({7}, uint8)}, {"w", from_values({2, -3})}},
                             .metadata = {{"k", "v"}}});
  std::string header = R"({"__metadata__":{"k":"v"},"flag":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
                       R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_bytes(scratch / "s"), with_header(header, std::string("\0\0\0\x40\0\0\x40\xc0\x07", 9)));
}

TEST(StateFile, EveryFormatComesBackBitForBit) {
  const Scratch scratch;
  State state;
  std::vector<DType> dtypes;
  for (const Format& format : kFormats) dtypes.emplace_back(&format);
  for (const char* name : {"e5m7", "binary8p4se", "e4m15", "int4", "ue5m3"})
    dtypes.push_back(find_dtype(name));
  for (const DType dtype : dtypes) {
    Tensor tensor = empty({3, 16}, dtype);
    auto* bytes = static_cast<unsigned char*>(tensor.raw_mutable());
    for (std::int64_t i = 0; i < tensor.bytes(); ++i)
      bytes[i] = static_cast<unsigned char>(random_bits(1, 2, static_cast<std::uint64_t>(i)));
    state.tensors.push_back({std::string(dtype.name()), tensor});
  }
  state.tensors.push_back({"scalar", full({}, 3)});
  state.tensors.push_back({"nothing", empty({0, 5})});
  state.metadata = {{"text", "quotes \" and ünïcode\n"}};
  save_state(scratch / "s", state);
  const State loaded = load_state(scratch / "s");
  EXPECT_EQ(loaded.metadata, state.metadata);
  ASSERT_EQ(loaded.tensors.size(), state.tensors.size());
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const Tensor &was = state.tensors[i].value, &is = loaded.tensors[i].value;
    EXPECT_EQ(loaded.tensors[i].name, state.tensors[i].name);
    EXPECT_EQ(is.shape(), was.shape());
    ASSERT_EQ(is.dtype(), was.dtype());
    EXPECT_EQ(bytes_of(is), bytes_of(was)) << state.tensors[i].name;
  }
}

TEST(StateFile, AViewIsWrittenAsItsElements) {
  const Scratch scratch;
  const Tensor matrix = from_values(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3});
  save_state(scratch / "s", {.tensors = {{"t", transpose(matrix, 0, 1)}}, .metadata = {}});
  const State state = load_state(scratch / "s");
  EXPECT_EQ(state.tensors[0].value.shape(), (Shape{3, 2}));
  EXPECT_THAT(state.tensors[0].value.to_vector(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(StateFile, WhatCanNotBeWrittenIsRefusedAndTheOldFileStays) {
  const Scratch scratch;
  const auto file = scratch / "s";
  const Tensor one = ones({1});
  save_state(file, {.tensors = {{"w", one}}, .metadata = {}});
  const std::string before = read_bytes(file);
  EXPECT_THROW(save_state(file, {.tensors = {{"w", one}, {"w", one}}, .metadata = {}}), ValueError);
  EXPECT_THROW(save_state(file, {.tensors = {{"__metadata__", one}}, .metadata = {}}), ValueError);
  EXPECT_THROW(save_state(file, {.tensors = {{"w\xff", one}}, .metadata = {}}), ValueError);
  static constexpr Format kOwn{"my own", 3, 2, 3, Specials::none};
  EXPECT_THROW(save_state(file, {.tensors = {{"w", zeros({1}, DType(&kOwn))}}, .metadata = {}}), DTypeError);
  EXPECT_EQ(read_bytes(file), before);
}

TEST(StateFile, AFormatThatSafetensorsLacksIsNamedInTheMetadata) {
  const Scratch scratch;
  const auto file = scratch / "s";
  save_state(file, {.tensors = {{"w", full({2}, 1, find_dtype("e5m7"))}}, .metadata = {{"k", "v"}}});
  EXPECT_THAT(read_bytes(file), HasSubstr(R"("halftone.format.w":"e5m7")"));
  EXPECT_THAT(read_bytes(file), HasSubstr(R"("dtype":"U16")"));
  const State state = load_state(file);
  EXPECT_EQ(state.metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_THAT(state.tensors[0].value.to_vector(), ElementsAre(1, 1));
  const auto with_format = [&](const std::string& name) {
    write_bytes(file, with_header("{\"__metadata__\":{\"halftone.format.w\":\"" + name +
                                      "\"},\"w\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
                                  "1234"));
    return message_of<FileError>([&] { load_state(file); });
  };
  EXPECT_THAT(with_format("e5m7"), HasSubstr("format e5m7 in U8"));  // which has two bytes
  EXPECT_THAT(with_format("e99m7"), HasSubstr("format e99m7"));
}

TEST(StateFile, AnErrorNamesTheFileAndThePlace) {
  const Scratch scratch;
  const auto file = scratch / "bad";
  const auto error = [&](const std::string& bytes) {
    write_bytes(file, bytes);
    const std::string message = message_of<FileError>([&] { load_state(file); });
    EXPECT_THAT(message, HasSubstr(file.string()));
    return message;
  };
  const auto entry = [&](const std::string& fields, const std::string& data = "1234") {
    return error(with_header("{\"w\":{" + fields + "}}", data));
  };
  EXPECT_THAT(error(""), HasSubstr("the file has 0 bytes"));
  EXPECT_THAT(error("PK\3\4 a foreign file of another program"), HasSubstr("byte 0: a header of"));
  EXPECT_THAT(error(with_header("[1]", "")), HasSubstr("byte 8"));
  EXPECT_THAT(error(with_header("{\"a\":", "")), HasSubstr("not JSON"));
  EXPECT_THAT(error(with_header("{\"a\":1}", "")), HasSubstr("tensor \"a\""));
  EXPECT_THAT(error(with_header("{\"__metadata__\":{\"a\":1}}", "")), HasSubstr("\"a\" is no string"));
  EXPECT_THAT(error(with_header("{\"__metadata__\":{},\"__metadata__\":{}}", "")), HasSubstr("comes twice"));
  EXPECT_THAT(error(with_header("{\"a\":[[[[[[[[]]]]]]]]}", "")), HasSubstr("nested too deeply"));
  EXPECT_THAT(error(with_header("{}", "1")),
              HasSubstr("the tensors end at data byte 0; expected the end of the file, 1"));

  const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  write_bytes(file, with_header("{\"w\":{" + good + "}}", "1234"));
  EXPECT_EQ(load_state(file).tensors.size(), 1u);
  EXPECT_THAT(entry(good, "123"), HasSubstr("a range within 3 bytes"));
  EXPECT_THAT(entry(good, "12345"), HasSubstr("the end of the file, 5"));
  EXPECT_THAT(entry(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"), HasSubstr("dtype \"F33\""));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), HasSubstr("shape [-1]"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), HasSubstr("shape [1.0]"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4])"),
              HasSubstr("up to 6 sizes"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"),
              HasSubstr("63 bits"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
              HasSubstr("4 bytes for shape [2] of F32; expected 8"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), HasSubstr("data_offsets [4,0]"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"), HasSubstr("[begin, end]"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1])"), HasSubstr("dtype, shape and data_offsets"));
  EXPECT_THAT(entry(R"("dtype":"U8","shape":[3],"data_offsets":[1,4])"),
              HasSubstr("begins at data byte 1; expected 0"));
  EXPECT_THAT(error(with_header(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                                R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                                "1234")),
              HasSubstr("\"b\" begins at data byte 2; expected 3"));
  EXPECT_THAT(error(with_header("{\"w\":{" + good + "},\"w\":{" + good + "}}", "1234")),
              HasSubstr("\"w\" comes twice"));
  EXPECT_THAT(message_of<FileError>([&] { load_state(scratch / "missing"); }), HasSubstr("missing"));
  EXPECT_THAT(message_of<FileError>([&] { load_state(scratch.path()); }), HasSubstr("not a regular file"));
}

TEST(StateFile, NoMutilatedFileCrashes) {
  const Scratch scratch;
  save_state(scratch / "s",
             {.tensors = {{"a", ones({2, 2})}, {"b", ones({3}, float16)}}, .metadata = {{"k", "v"}}});
  const std::string bytes = read_bytes(scratch / "s");
  const int thrown = fuzz(scratch / "mutated", bytes, 3, 1000, load_state);
  EXPECT_GE(thrown, static_cast<int>(bytes.size()));  // no truncation loads
}

}  // namespace
}  // namespace halftone::train
