// SPDX-License-Identifier: Apache-2.0
//
// Blocks: against their definition, at both ends of the scale, with zeros and NaN, and the signal that is
// left of normal and heavy-tailed data.
#include "halftone/block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "format/block_oracle.h"
#include "halftone/census.h"
#include "halftone/error.h"
#include "halftone/random.h"

namespace halftone {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Blocks {
  std::vector<std::uint8_t> elements, scales;
};

Blocks encode_all(const BlockFormat& f, const std::vector<float>& values, float scale = 1,
                  const Conversion& conversion = {}, const RandomWords& random = {}) {
  const auto count = static_cast<std::int64_t>(values.size());
  Blocks blocks;
  blocks.elements.resize(static_cast<std::size_t>(packed_bytes(f, count)) + 1, 0xEE);
  blocks.scales.resize(static_cast<std::size_t>(block_count(f, count) * f.scale.bytes()) + 1, 0xEE);
  encode_blocks(f, values.data(), count, blocks.elements.data(), blocks.scales.data(), scale, conversion,
                random);
  EXPECT_EQ(blocks.elements.back(), 0xEE);
  EXPECT_EQ(blocks.scales.back(), 0xEE);
  return blocks;
}

std::vector<float> round_trip(const BlockFormat& f, const std::vector<float>& values, float scale = 1) {
  const Blocks blocks = encode_all(f, values, scale);
  std::vector<float> result(values.size() + 1, -77);
  decode_blocks(f, blocks.elements.data(), blocks.scales.data(), static_cast<std::int64_t>(values.size()),
                result.data(), scale);
  EXPECT_EQ(result.back(), -77);
  result.pop_back();
  return result;
}

std::vector<float> normals(std::size_t count, std::uint64_t stream, bool heavy = false) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = random_normal_at(11, stream, i);
    if (heavy) values[i] *= std::exp(random_normal_at(11, stream + 1, i));
  }
  return values;
}

std::vector<BlockFormat> all_formats() {
  std::vector<BlockFormat> formats(std::begin(kBlockFormats), std::end(kBlockFormats));
  for (const char* name :
       {"mxfp8_e4m3:ceil", "mxfp8_e4m3:rceil", "mxfp8_e4m3:even", "mxfp6_e2m3:rceil", "mxfp6_e2m3:even",
        "mxfp4:ceil", "mxfp4:rceil", "mxfp4:even", "mxint8:rceil", "mxint8:even",
        "float4_e2m1fn:8:ue5m3:nearest", "int4:7:float8_e8m0fnu:rceil", "float6_e3m2fn:5:float16:nearest",
        "e2m2:48:float8_e4m3fn:floor", "float8_e4m3fnuz:32:float8_e8m0fnu:rceil",
        "binary8p4se:16:binary8p1uf:rceil", "ue3m3:16:float8_e8m0fnu:ceil"})
    formats.push_back(find_block_format(name));
  return formats;
}

class EveryBlockFormat : public testing::TestWithParam<BlockFormat> {};

TEST_P(EveryBlockFormat, GivesTheValuesOfTheDefinition) {
  const BlockFormat& f = GetParam();
  const auto length = static_cast<std::size_t>(f.length);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<float> values = normals(length, 100 + seed, seed % 2 != 0);
    const float size = std::ldexp(1.0f, static_cast<int>(seed) - 20);
    float amax = 0;
    for (float& v : values) {
      v *= size;
      if (!f.element.format().is_signed) v = std::fabs(v);
      amax = std::max(amax, std::fabs(v));
    }
    const float scale = tensor_scale(f, amax * 3);
    ASSERT_EQ(round_trip(f, values, scale), oracle::block_values(f, values, scale)) << seed;
  }
}

TEST_P(EveryBlockFormat, ConvertsRowsOfAnyLengthBlockByBlock) {
  const BlockFormat& f = GetParam();
  const std::vector<float> all = normals(5000, 7);
  std::vector<float> values;
  for (float v : all) values.push_back(f.element.format().is_signed ? v : std::fabs(v));
  const auto length = static_cast<std::size_t>(f.length);
  for (std::size_t count :
       {std::size_t{0}, std::size_t{1}, length - 1, length, length + 1, 3 * length + 2, std::size_t{5000}}) {
    const std::vector<float> row(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<float> expected;
    for (std::size_t begin = 0; begin < count; begin += length) {
      const auto end = std::min(begin + length, count);
      const std::vector<float> one = round_trip(f, {row.begin() + static_cast<std::ptrdiff_t>(begin),
                                                    row.begin() + static_cast<std::ptrdiff_t>(end)});
      expected.insert(expected.end(), one.begin(), one.end());
    }
    ASSERT_EQ(round_trip(f, row), expected) << count;
  }
}

TEST_P(EveryBlockFormat, KeepsABlockOfZeros) {
  const std::vector<float> zeros(static_cast<std::size_t>(GetParam().length), 0.0f);
  for (float v : round_trip(GetParam(), zeros)) EXPECT_EQ(v, 0.0f);
}

TEST_P(EveryBlockFormat, MakesABlockWithNanOrInfinityNan) {
  const BlockFormat& f = GetParam();
  if (!has_nan(f.scale.format())) GTEST_SKIP() << "the scale format has no NaN";
  for (float bad : {kNan, kInf, -kInf}) {
    std::vector<float> values(static_cast<std::size_t>(2 * f.length), 1.0f);
    values[static_cast<std::size_t>(f.length) / 2] = bad;
    const std::vector<float> result = round_trip(f, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(std::isnan(result[i]), i < static_cast<std::size_t>(f.length)) << i;
  }
}

std::string readable(const testing::TestParamInfo<BlockFormat>& info) {
  std::string text(info.param.name);
  for (char& c : text)
    if (c == ':') c = '_';
  return text;
}
INSTANTIATE_TEST_SUITE_P(Blocks, EveryBlockFormat, testing::ValuesIn(all_formats()), readable);

TEST(Blocks, TheScaleReachesBothEnds) {
  const BlockFormat f = find_block_format("mxfp8_e4m3");
  const auto scale_of = [&](float amax) {
    return int{encode_all(f, std::vector<float>(32, amax)).scales[0]};
  };
  EXPECT_EQ(scale_of(0), 0);
  EXPECT_EQ(scale_of(0x1p-149f), 0);  // 2^-157 would be wanted
  EXPECT_EQ(scale_of(0x1p-119f), 0);
  EXPECT_EQ(scale_of(0x1p-118f), 1);
  EXPECT_EQ(scale_of(1), 127 - 8);
  EXPECT_EQ(scale_of(std::numeric_limits<float>::max()), 254 - 8);
  EXPECT_EQ(scale_of(kNan), 255);
  // Subnormal floats survive as far as the element reaches: 2^-127 * 2^-9.
  EXPECT_EQ(round_trip(f, std::vector<float>(32, 0x1p-136f))[0], 0x1p-136f);
  EXPECT_EQ(round_trip(f, std::vector<float>(32, 0x1.8p-136f))[0], 0x1p-135f);
  EXPECT_EQ(round_trip(f, std::vector<float>(32, 0x1p-137f))[0], 0.0f);
  EXPECT_EQ(round_trip(f, std::vector<float>(32, 0x1.cp127f))[5], 0x1.cp127f);
}

TEST(Blocks, FloorMaySaturateTheLargestElement) {
  std::vector<float> values(32, 0.5f);
  values[3] = 7.9f;
  EXPECT_EQ(round_trip(find_block_format("mxfp4"), values)[3], 6.0f);
  EXPECT_EQ(round_trip(find_block_format("mxfp4:rceil"), values)[3], 8.0f);
}

TEST(Blocks, PackTheLowestBitsFirst) {
  std::vector<float> values(32, 0.0f);
  values[0] = 0.5f, values[1] = -6.0f, values[2] = 4.0f;  // the scale is 1
  const Blocks four = encode_all(find_block_format("mxfp4"), values);
  EXPECT_EQ(four.elements.size(), 17u);
  EXPECT_EQ(four.elements[0], 0xF1);
  EXPECT_EQ(four.elements[1], 0x06);
  values[0] = 0.0625f * 16, values[1] = -28 * 1.0f, values[2] = 0, values[3] = 28;
  const Blocks six = encode_all(find_block_format("mxfp6_e3m2"), values);
  EXPECT_EQ(six.elements.size(), 25u);
  EXPECT_EQ(six.scales[0], 127);
  const unsigned word = six.elements[0] | six.elements[1] << 8 | six.elements[2] << 16;
  EXPECT_EQ(word, 0x0Cu | 0x3Fu << 6 | 0u << 12 | 0x1Fu << 18);
}

TEST(Blocks, TakeTheBitsThatTheirSpecificationsSay) {
  const auto bits = [](const char* name) { return find_block_format(name).bits_per_element(); };
  EXPECT_EQ(bits("mxfp8_e4m3"), 8.25);
  EXPECT_EQ(bits("mxfp6_e2m3"), 6.25);
  EXPECT_EQ(bits("mxfp4"), 4.25);
  EXPECT_EQ(bits("mxint8"), 8.25);
  EXPECT_EQ(bits("nvfp4"), 4.5);
  EXPECT_EQ(packed_bytes(find_block_format("nvfp4"), 16) + 1, 9);  // 16 values in 9 bytes
}

double signal_to_noise(const char* name, const std::vector<float>& values) {
  const BlockFormat f = find_block_format(name);
  float amax = 0;
  for (float v : values) amax = std::max(amax, std::fabs(v));
  const std::vector<float> after = round_trip(f, values, tensor_scale(f, amax));
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    signal += std::pow(static_cast<double>(values[i]), 2);
    noise += std::pow(static_cast<double>(values[i]) - static_cast<double>(after[i]), 2);
  }
  return 10 * std::log10(signal / noise);
}

// Table of docs/formats.md (after numerics measured elsewhere on 2^20 samples): within 0.1 dB of normal data.
TEST(Blocks, LeaveTheSignalThatIsPublished) {
  const std::vector<float> normal = normals(1 << 18, 1);
  const struct {
    const char* name;
    double decibels;
  } table[] = {{"mxfp8_e4m3", 30.64},
               {"mxfp8_e4m3:ceil", 31.53},
               {"mxfp8_e4m3:rceil", 31.53},
               {"mxfp8_e4m3:even", 31.19},
               {"mxfp8_e5m2", 25.35},
               {"mxfp8_e5m2:even", 25.54},
               {"mxfp6_e3m2", 25.35},
               {"mxfp6_e2m3", 30.94},
               {"mxfp6_e2m3:ceil", 28.77},
               {"mxfp6_e2m3:rceil", 30.96},
               {"mxfp6_e2m3:even", 30.99},
               {"mxfp4", 18.79},
               {"mxfp4:ceil", 16.83},
               {"mxfp4:rceil", 18.76},
               {"mxfp4:even", 19.03},
               {"mxint8", 41.66},
               {"nvfp4", 20.44}};
  for (const auto& row : table) EXPECT_NEAR(signal_to_noise(row.name, normal), row.decibels, 0.1) << row.name;
}

TEST(Blocks, RoundStochasticallyAsTheWordsSay) {
  const BlockFormat f = find_block_format("mxfp4");
  Conversion stochastic;
  stochastic.rounding = Rounding::stochastic;
  std::vector<float> values(3200, 1.2f);  // between 1 and 1.5
  values[0] = 4;
  for (std::size_t i = 0; i < values.size(); i += 32) values[i] = 4;  // every scale is 1
  const Blocks one = encode_all(f, values, 1, stochastic, {1, 2, 0});
  const Blocks other = encode_all(f, values, 1, stochastic, {1, 3, 0});
  EXPECT_EQ(encode_all(f, values, 1, stochastic, {1, 2, 0}).elements, one.elements);
  EXPECT_NE(other.elements, one.elements);
  std::vector<float> result(values.size());
  decode_blocks(f, one.elements.data(), one.scales.data(), 3200, result.data());
  double sum = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i % 32 == 0) continue;
    ASSERT_TRUE(result[i] == 1.0f || result[i] == 1.5f);
    sum += result[i];
  }
  EXPECT_NEAR(sum / 3100, 1.2, 5 * 0.5 * std::sqrt(0.4 * 0.6 / 3100));
  // In pieces that start at a block, with the words that belong there: the same.
  const std::vector<float> tail(values.begin() + 64, values.end());
  const Blocks piece = encode_all(f, tail, 1, stochastic, {1, 2, 64});
  EXPECT_TRUE(std::equal(piece.scales.begin(), piece.scales.end() - 1, one.scales.begin() + 2));
  EXPECT_TRUE(std::equal(piece.elements.begin(), piece.elements.end() - 1, one.elements.begin() + 32));
}

TEST(Blocks, CountWhatHappensToTheElements) {
  std::vector<float> values(64, 0.0f);
  // The first block has the scale 1: an exact 0.5, a rounded 1.2, a lost 0.1 and a saturated 7.
  values[0] = 0.5f, values[1] = 1.2f, values[2] = 0.1f, values[3] = -7.0f;
  for (std::size_t i = 32; i < 64; ++i) values[i] = 0.3f;  // scale 2^-4: 4.8 becomes 4
  values[40] = kNan;                                       // no scale
  const BlockFormat f = find_block_format("mxfp4");
  std::vector<std::uint8_t> elements(32), scales(2);
  Census census;
  encode_blocks(f, values.data(), 64, elements.data(), scales.data(), 1, {}, {}, &census);
  EXPECT_EQ(census.count(), 64);
  EXPECT_EQ(census.nan, 1);
  EXPECT_EQ(census.saturated, 1);
  EXPECT_EQ(census.to_nan, 31);  // with it in one block
  EXPECT_EQ(census.to_zero, 1);
  EXPECT_EQ(census.exact, 1 + 28);
  EXPECT_EQ(census.rounded, 1);
}

TEST(Blocks, CountZerosWhereNeitherElementNorScaleHasNan) {
  std::vector<float> values(16, 1.0f);
  values[3] = kInf, values[4] = 0.0f, values[5] = kNan;
  const BlockFormat f = find_block_format("float4_e2m1fn:16:ue4m3finite:nearest");
  std::vector<std::uint8_t> elements(8), scales(1);
  Census census;
  encode_blocks(f, values.data(), 16, elements.data(), scales.data(), 1, {}, {}, &census);
  std::vector<float> became(16);
  decode_blocks(f, elements.data(), scales.data(), 16, became.data());
  EXPECT_EQ(became, std::vector<float>(16, 0.0f));
  EXPECT_EQ(census.nan, 1);
  EXPECT_EQ(census.exact, 1);
  EXPECT_EQ(census.to_nan, 0);
  EXPECT_EQ(census.to_zero + census.saturated, 14);  // infinity is beyond the largest
}

TEST(Blocks, TheTensorScaleIsThatOfTheLargestValue) {
  const BlockFormat f = find_block_format("nvfp4");
  EXPECT_EQ(tensor_scale(f, 2688), 1.0f);  // 448 * 6
  EXPECT_EQ(tensor_scale(f, 0), 1.0f);
  EXPECT_EQ(tensor_scale(f, kInf), 1.0f);
  EXPECT_EQ(tensor_scale(f, kNan), 1.0f);
  EXPECT_EQ(tensor_scale(find_block_format("mxfp4"), 5), 1.0f);
  EXPECT_TRUE(std::isfinite(1 / tensor_scale(f, 0x1p-149f)));
}

TEST(Blocks, RefuseWhatCannotBe) {
  float value = 1;
  std::uint8_t code[2];
  BlockFormat f = find_block_format("mxfp4");
  for (float scale : {0.0f, -1.0f, kNan, kInf, 0x1p-149f})
    EXPECT_THROW(encode_blocks(f, &value, 1, code, code + 1, scale), ValueError) << scale;
  f.length = 0;
  EXPECT_THROW(encode_blocks(f, &value, 1, code, code + 1), ValueError);
  f = find_block_format("mxfp4");
  f.element = float16;
  EXPECT_THROW(decode_blocks(f, code, code + 1, 1, &value), ValueError);
}

}  // namespace
}  // namespace halftone
