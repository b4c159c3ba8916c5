// SPDX-License-Identifier: Apache-2.0
//
// Pieces and threads make no difference: the codes are those of one value at a time.
#include <gtest/gtest.h>

#include <string>

#include "cli/convert_files.h"
#include "halftone/random.h"

namespace halftone {
namespace {

TEST(ConvertNumbers, EveryValueIsEncodedOnItsOwn) {
  const ConvertFiles files;
  std::vector<float> values = noise(70'001);  // three pieces
  values[40'000] = NAN, values[40'001] = -INFINITY;
  files.save("w.npy", values);
  for (const char* name : {"float16", "float8_e4m3fn", "binary8p4se", "e5m7", "int8", "float8_e8m0fnu"}) {
    const DType dtype = find_dtype(name);
    Conversion conversion = default_conversion(dtype.format());
    conversion.rounding = Rounding::to_odd;
    conversion.overflow = Overflow::keep_infinity;
    files.convert("w.npy -o o --rounding to_odd --overflow keep_infinity --to " + std::string(name));
    const std::string codes = files.bytes("o");
    ASSERT_EQ(codes.size(), values.size() * static_cast<std::size_t>(dtype.bytes()));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(load_code(dtype, codes.data(), static_cast<std::int64_t>(i)),
                encode(dtype.format(), static_cast<double>(values[i]), conversion))
          << name << " " << values[i];
  }
}

// What conversion.h says: of up to 16 bits, halves of words, the lower first, as the upper half of a word.
std::uint32_t word_at(std::uint64_t seed, int bits, std::uint64_t i) {
  if (bits > 16) return random_bits(seed, streams::rounding, i);
  const std::uint32_t word = random_bits(seed, streams::rounding, i / 2);
  return (i % 2 == 0 ? word & 0xFFFF : word >> 16) << 16;
}

TEST(ConvertNumbers, RandomWordsFollowTheSeedAndThePlace) {
  const ConvertFiles files;
  const std::vector<float> values = noise(70'001, 3);
  files.save("w.npy", values);
  // 64-bit integers take the way of single values.
  data::NpyArray whole{{70'001}, int64, std::vector<std::byte>(8 * 70'001)};
  for (std::int64_t i = 0; i < 70'001; ++i)
    store_code(int64, whole.bytes.data(), i, random_bits(4, 4, static_cast<std::uint64_t>(i)));
  data::write_npy(files.path("i.npy"), whole);
  for (const int bits : {9, 23}) {
    Conversion conversion = default_conversion(float8_e5m2.format());
    conversion.rounding = Rounding::stochastic;
    conversion.random_bits = bits;
    const std::string options =
        " -o o --rounding stochastic --random-bits " + std::to_string(bits) + " --seed 12345678901 --to ";
    files.convert("w.npy" + options + "float8_e5m2");
    std::string codes = files.bytes("o");
    for (std::int64_t i = 0; i < 70'001; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(load_code(float8_e5m2, codes.data(), i),
                encode(float8_e5m2.format(), static_cast<double>(values[at]), conversion,
                       word_at(12345678901, bits, at)))
          << bits << " " << i;
    }
    files.convert("i.npy" + options + "bfloat16");
    codes = files.bytes("o");
    for (std::int64_t i = 0; i < 70'001; ++i)
      ASSERT_EQ(load_code(bfloat16, codes.data(), i),
                encode(bfloat16.format(), decode_exact(int64.format(), code_at(whole, i)), conversion,
                       word_at(12345678901, bits, static_cast<std::uint64_t>(i))))
          << bits << " " << i;
  }
  files.convert("w.npy -o p --rounding stochastic --random-bits 23 --seed 2 --to float8_e5m2");
  files.convert("w.npy -o q --rounding stochastic --random-bits 23 --seed 3 --to float8_e5m2");
  EXPECT_NE(files.bytes("p"), files.bytes("q"));
}

TEST(ConvertNumbers, IntegersThatADoubleCanNotHoldAreRoundedOnce) {
  const ConvertFiles files;
  // 2^60 + 2^36 is a tie of float32. One more, and the nearest double would be the tie.
  const std::int64_t tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 36);
  const std::vector<std::int64_t> values = {tie, tie + 1, -tie - 1, std::int64_t{1} << 62, 0, -1};
  data::NpyArray array{{6}, int64, std::vector<std::byte>(48)};
  std::memcpy(array.bytes.data(), values.data(), 48);
  data::write_npy(files.path("i.npy"), array);
  const auto report = files.json("i.npy --to float32 -o o.npy");
  const data::NpyArray back = files.load("o.npy");
  const double low = 0x1p60, high = 0x1p60 + 0x1p37;
  const double expected[] = {low, high, -high, 0x1p62, 0, -1};
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(decode(float32.format(), code_at(back, i)), expected[i]) << i;
  EXPECT_EQ(report["census"]["exact"], 3);
  EXPECT_EQ(report["census"]["rounded"], 3);
  EXPECT_EQ(report["max_error"].get<double>(), 0x1p36);
}

TEST(ConvertNumbers, ADifferenceThatADoubleDoesNotSeeIsStillRounding) {
  const ConvertFiles files;
  const std::int64_t value = (std::int64_t{1} << 53) + 1;
  data::NpyArray array{{1}, int64, std::vector<std::byte>(8)};
  std::memcpy(array.bytes.data(), &value, 8);
  data::write_npy(files.path("i.npy"), array);
  EXPECT_EQ(files.json("i.npy --to float64")["census"]["rounded"], 1);
  EXPECT_EQ(files.json("i.npy --to float64")["max_error"], 1);
  EXPECT_NE(files.convert("i.npy --to float64").find("9007199254740993 became 9007199254740992"),
            std::string::npos);
}

TEST(ConvertNumbers, WhatIsWiderThanADoubleAndDoesNotChangeIsExact) {
  const ConvertFiles files;
  const std::uint64_t values[] = {(std::uint64_t{1} << 53) + 1, ~std::uint64_t{0},
                                  (std::uint64_t{1} << 63) + 1, 5};
  files.write("four", std::string(reinterpret_cast<const char*>(values), sizeof values));
  for (const std::string name : {"int64", "uint64"}) {
    const auto report = files.json("four --from " + name + " --to " + name + " -o same");
    EXPECT_EQ(report["census"]["exact"], 4) << name;
    EXPECT_EQ(report["max_error"], 0) << name;
    EXPECT_EQ(files.bytes("same"), files.bytes("four")) << name;
  }
  std::string codes;  // of two bytes, the lower first
  for (int code = 0; code < 65536; ++code)
    codes += {static_cast<char>(code & 0xFF), static_cast<char>(code >> 8)};
  files.write("wide", codes);
  const auto report = files.json("wide --from binary16p1se --to binary16p1se");
  EXPECT_EQ(report["census"]["exact"], 65535);
  EXPECT_EQ(report["census"]["nan"], 1);
}

TEST(ConvertNumbers, DoublesAreNotRoundedToFloatsOnTheWay) {
  const ConvertFiles files;
  const double value = 1 + 0x1p-11 + 0x1p-40;  // float32 would make it a tie of float16
  data::NpyArray array{{1}, float64, std::vector<std::byte>(8)};
  std::memcpy(array.bytes.data(), &value, 8);
  data::write_npy(files.path("d.npy"), array);
  files.convert("d.npy --to float16 -o o.npy");
  EXPECT_EQ(code_at(files.load("o.npy"), 0), 0x3c01u);
}

TEST(ConvertNumbers, ManyValuesAreOneArray) {
  const ConvertFiles files;
  const std::int64_t count = (1 << 21) + 5;  // beyond what is in memory at once
  std::string codes(static_cast<std::size_t>(count), '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<char>(i * 2654435761u >> 24);
  files.write("raw", codes);
  const auto report = files.json("raw --from uint8 --to int16 -o wide");
  EXPECT_EQ(report["census"]["exact"], count);
  const std::string wide = files.bytes("wide");
  ASSERT_EQ(wide.size(), 2 * codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) ASSERT_EQ(wide[2 * i], codes[i]);
}

}  // namespace
}  // namespace halftone
