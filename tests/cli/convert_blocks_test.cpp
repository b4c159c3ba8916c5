// SPDX-License-Identifier: Apache-2.0
//
// Rows and pieces against encode_blocks of one row at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/convert_files.h"
#include "halftone/block.h"
#include "halftone/random.h"

namespace halftone {
namespace {

struct Packed {
  std::string elements, scales;
};

Packed by_rows(const BlockFormat& format, const std::vector<float>& values, std::int64_t length,
               float tensor_scale, const Conversion& conversion, std::uint64_t seed) {
  Packed all;
  for (std::int64_t first = 0; first < static_cast<std::int64_t>(values.size()); first += length) {
    std::string elements(static_cast<std::size_t>(packed_bytes(format, length)), '\0');
    std::string scales(static_cast<std::size_t>(block_count(format, length) * format.scale.bytes()), '\0');
    encode_blocks(format, values.data() + first, length, elements.data(), scales.data(), tensor_scale,
                  conversion, {seed, streams::rounding, static_cast<std::uint64_t>(first)});
    all.elements += elements;
    all.scales += scales;
  }
  return all;
}

TEST(ConvertBlocks, EveryRowBeginsABlock) {
  const ConvertFiles files;
  for (const auto& [rows, length] : {std::pair{40, 100}, {1, 50'001}, {900, 64}, {3, 33'000}, {200, 1}}) {
    const std::vector<float> values = noise(std::int64_t{rows} * length, 5, 2);
    files.save("w.npy", values, {rows, length});
    for (const char* name : {"mxfp8_e4m3", "mxfp6_e2m3", "mxfp4:rceil", "mxint8",
                             "float4_e2m1fn:8:ue5m3:nearest", "int3:5:bfloat16:even"}) {
      const Packed expected = by_rows(find_block_format(name), values, length, 1, {}, 1);
      files.convert("w.npy -o o --to " + std::string(name));
      EXPECT_TRUE(files.bytes("o") == expected.elements) << name << " " << rows << " " << length;
      EXPECT_TRUE(files.bytes("o.scales") == expected.scales) << name << " " << rows << " " << length;
    }
  }
}

TEST(ConvertBlocks, TheTensorsScaleComesFromItsLargestFiniteValue) {
  const ConvertFiles files;
  std::vector<float> values = noise(50 * 72, 6, 3);
  const BlockFormat& format = kBlockFormats[std::size(kBlockFormats) - 1];
  ASSERT_EQ(format.name, "nvfp4");
  float most = 0;
  for (const float value : values) most = std::max(most, std::fabs(value));
  const float scale = tensor_scale(format, most);
  values[77] = INFINITY, values[1000] = NAN;
  files.save("w.npy", values, {50, 72});
  const auto report = files.json("w.npy --to nvfp4 -o o");
  EXPECT_EQ(report["tensor_scale"].get<float>(), scale);
  const Packed expected = by_rows(format, values, 72, scale, {}, 1);
  EXPECT_TRUE(files.bytes("o") == expected.elements);
  EXPECT_TRUE(files.bytes("o.scales") == expected.scales);
  EXPECT_EQ(files.bytes("o.tensor_scale"), std::string(reinterpret_cast<const char*>(&scale), 4));
  EXPECT_EQ(report["census"]["to_nan"], 23);  // a block of 16 and one of 8 at the end of its row
  EXPECT_EQ(report["census"]["nan"], 1);
  EXPECT_EQ(report["finite"], 50 * 72 - 24);
}

TEST(ConvertBlocks, RoundingAndSeedReachTheElements) {
  const ConvertFiles files;
  const std::vector<float> values = noise(20 * 3000, 7, 2);
  files.save("w.npy", values, {20, 3000});
  Conversion conversion;
  conversion.rounding = Rounding::stochastic;
  conversion.random_bits = 11;
  const Packed expected = by_rows(find_block_format("mxfp6_e3m2"), values, 3000, 1, conversion, 99);
  files.convert("w.npy --to mxfp6_e3m2 --rounding stochastic --random-bits 11 --seed 99 -o o");
  EXPECT_TRUE(files.bytes("o") == expected.elements);
}

TEST(ConvertBlocks, NumpyGetsRowsOfBytes) {
  const ConvertFiles files;
  files.save("w.npy", noise(2 * 3 * 40), {2, 3, 40});
  files.convert("w.npy --to mxfp4 -o o.npy");
  EXPECT_EQ(files.load("o.npy").shape, (std::vector<std::int64_t>{2, 3, 20}));
  EXPECT_EQ(files.load("o.scales.npy").shape, (std::vector<std::int64_t>{2, 3, 2}));
  files.convert("w.npy --to nvfp4 -o o.npy");
  EXPECT_TRUE(files.load("o.tensor_scale.npy").shape.empty());
}

TEST(ConvertBlocks, TheErrorsAreThoseOfTheDecodedValues) {
  const ConvertFiles files;
  const std::vector<float> values = noise(64, 8, 1);
  files.save("w.npy", values, {2, 32});
  const BlockFormat format = find_block_format("mxfp4");
  const Packed packed = by_rows(format, values, 32, 1, {}, 1);
  std::vector<float> decoded(64);
  decode_blocks(format, packed.elements.data(), packed.scales.data(), 64, decoded.data());
  double signal = 0, noise = 0, most = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const double x = values[i], error = decoded[i] - x;
    signal += x * x, noise += error * error, most = std::max(most, std::fabs(error));
  }
  const auto report = files.json("w.npy --to mxfp4");
  EXPECT_EQ(report["max_error"].get<double>(), most);
  EXPECT_NEAR(report["signal_to_noise_db"].get<double>(), 10 * std::log10(signal / noise), 1e-9);
}

TEST(ConvertBlocks, TheCensusIsOfTheElements) {
  const ConvertFiles files;
  // amax 7.5: floor gives the scale 1, so 7.5 saturates at 6; 0.3 is subnormal, 0.1 becomes zero, 3 is exact.
  files.save("w.npy", {7.5f, 0.3f, 0.1f, 3.0f, 2.2f, 0.0f});
  const auto floor = files.json("w.npy --to mxfp4")["census"],
             ceil = files.json("w.npy --to mxfp4:rceil")["census"];
  EXPECT_EQ(floor["saturated"], 1);
  EXPECT_EQ(floor["to_subnormal"], 1);
  EXPECT_EQ(floor["to_zero"], 1);
  EXPECT_EQ(floor["rounded"], 1);
  EXPECT_EQ(floor["exact"], 2);
  EXPECT_EQ(ceil["saturated"], 0);
}

}  // namespace
}  // namespace halftone
