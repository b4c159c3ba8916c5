// SPDX-License-Identifier: Apache-2.0
//
// The vector loops against the codec, bit for bit, on every instruction set this processor has.
#include "format/rows_simd.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "format/oracle.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

std::vector<Format> covered_rows() {
  std::vector<Format> rows;
  for (const Format& row : oracle::narrow_rows())
    if (simd::covers(row)) rows.push_back(row);
  return rows;
}

std::vector<std::uint16_t> encode_all(const Format& row, const std::vector<float>& values) {
  std::vector<std::uint8_t> bytes(values.size() * static_cast<std::size_t>(row.bytes()));
  simd::encode_narrow(row, values.data(), bytes.data(), static_cast<std::int64_t>(values.size()));
  std::vector<std::uint16_t> codes(values.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::uint16_t>(load_code(DType(&row), bytes.data(), static_cast<std::int64_t>(i)));
  return codes;
}

std::vector<float> decode_all(const Format& row, const std::vector<std::uint16_t>& codes) {
  std::vector<std::uint8_t> bytes(codes.size() * static_cast<std::size_t>(row.bytes()));
  for (std::size_t i = 0; i < codes.size(); ++i)
    store_code(DType(&row), bytes.data(), static_cast<std::int64_t>(i), codes[i]);
  std::vector<float> values(codes.size());
  simd::decode_narrow(row, bytes.data(), values.data(), static_cast<std::int64_t>(codes.size()));
  return values;
}

// Runs each test for one instruction set and every row the loops cover.
class VectorLoops : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { simd::use_target(GetParam()); }
  void TearDown() override { simd::use_target(0); }

  template <class Body>
  void each_row(const Body& body) {
    for (const Format& row : covered_rows()) {
      SCOPED_TRACE(std::string(row.name));
      ASSERT_NO_FATAL_FAILURE(body(row));
    }
  }
};

void expect_codes_of_the_codec(const Format& row, const std::vector<float>& values) {
  const std::vector<std::uint16_t> codes = encode_all(row, values);
  for (std::size_t i = 0; i < codes.size(); ++i)
    ASSERT_EQ(codes[i], encode(row, values[i])) << values[i] << " at " << i;
}

TEST_P(VectorLoops, DecodeEveryCode) {
  each_row([](const Format& row) {
    std::vector<std::uint16_t> codes(std::size_t{1} << row.bits());
    std::iota(codes.begin(), codes.end(), std::uint16_t{0});
    const std::vector<float> values = decode_all(row, codes);
    for (std::uint16_t code : codes) {
      const auto expected = static_cast<float>(decode(row, code));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(values[code])) << code;
        ASSERT_EQ(std::signbit(values[code]), std::signbit(expected)) << code;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[code]), std::bit_cast<std::uint32_t>(expected)) << code;
      }
    }
  });
}

TEST_P(VectorLoops, EncodeEveryMiddleAndItsNeighbours) {
  each_row([](const Format& row) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const oracle::Thresholds table(row);
    std::vector<float> values;
    const auto around = [&](double exact) {
      const auto value = static_cast<float>(exact);
      for (float x : {value, std::nextafter(value, 0.0f), std::nextafter(value, inf)}) {
        values.push_back(x);
        values.push_back(-x);
      }
    };
    for (double middle : table.middles()) around(middle);
    for (double value : table.values()) around(value);
    expect_codes_of_the_codec(row, values);
  });
}

TEST_P(VectorLoops, EncodeAStrideOverAllOfFloat32) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 16411)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t bits :
       {0u, 1u, 0x007FFFFFu, 0x00800000u, 0x7F7FFFFFu, 0x7F800000u, 0x7F800001u, 0x7FFFFFFFu}) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(std::bit_cast<float>(bits | 0x80000000u));
  }
  each_row([&](const Format& row) { expect_codes_of_the_codec(row, values); });
}

TEST_P(VectorLoops, TakeAnyLengthAtAnyAlignmentAndWriteNothingElse) {
  constexpr std::size_t kLongest = 70;
  constexpr std::uint8_t kUntouched = 0xA5;
  std::vector<float> values(kLongest + 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (i % 3 == 0 ? -1.0f : 1.0f) * static_cast<float>(i) / 8;
  each_row([&](const Format& row) {
    const auto bytes = static_cast<std::size_t>(row.bytes());
    for (std::size_t length = 0; length <= kLongest; ++length) {
      for (std::size_t offset : {0, 1, 2, 3, 5}) {
        const auto count = static_cast<std::int64_t>(length);
        const float* from = values.data() + offset % 2;
        std::vector<std::uint8_t> codes(offset + length * bytes + 8, kUntouched);
        simd::encode_narrow(row, from, codes.data() + offset, count);
        std::vector<float> back(length + 2, -7.0f);
        simd::decode_narrow(row, codes.data() + offset, back.data() + 1, count);
        for (std::size_t i = 0; i < length; ++i) {
          const std::uint64_t expected = encode(row, from[i]);
          const auto value = static_cast<float>(decode(row, expected));
          ASSERT_EQ(load_code(DType(&row), codes.data() + offset, static_cast<std::int64_t>(i)), expected);
          ASSERT_TRUE(back[i + 1] == value || (std::isnan(back[i + 1]) && std::isnan(value)));
        }
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(codes[i], kUntouched);
        for (std::size_t i = offset + length * bytes; i < codes.size(); ++i) ASSERT_EQ(codes[i], kUntouched);
        ASSERT_EQ(back[0], -7.0f);
        ASSERT_EQ(back[length + 1], -7.0f);
      }
    }
  });
}

#if defined(__SSE2__)
TEST_P(VectorLoops, KeepSubnormalsAndTiesWhateverTheStateOfTheProcessor) {
  each_row([](const Format& row) {
    const oracle::Thresholds table(row);
    std::vector<float> values;
    for (double middle : table.middles()) values.push_back(static_cast<float>(middle));
    for (std::uint32_t bits = 0; bits < 0x00900000u; bits += 12345)
      values.push_back(std::bit_cast<float>(bits));
    const std::vector<std::uint16_t> codes = encode_all(row, values);
    const std::vector<float> decoded = decode_all(row, codes);
    const auto same_bits = [](const std::vector<float>& a, const std::vector<float>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    const unsigned before = _mm_getcsr();
    for (unsigned state :
         {0x8040u /* flush */, 0x2000u /* down */, 0x4000u /* up */, 0x6000u /* to zero */}) {
      _mm_setcsr((before & ~0x6000u) | state);
      const std::vector<std::uint16_t> codes_then = encode_all(row, values);
      const std::vector<float> decoded_then = decode_all(row, codes);
      _mm_setcsr(before);
      EXPECT_EQ(codes_then, codes) << std::hex << state;
      EXPECT_TRUE(same_bits(decoded_then, decoded)) << std::hex << state;
    }
  });
}
#endif

// About a minute per row and instruction set: all 2^32 inputs. Run with --gtest_also_run_disabled_tests.
TEST_P(VectorLoops, DISABLED_EncodeAllOfFloat32) {
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 16;
  std::vector<float> values(kBlock);
  each_row([&](const Format& row) {
    const oracle::Thresholds table(row);
    for (std::uint64_t begin = 0; begin < (std::uint64_t{1} << 32); begin += kBlock) {
      for (std::uint64_t i = 0; i < kBlock; ++i)
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(begin + i));
      const std::vector<std::uint16_t> codes = encode_all(row, values);
      for (std::uint64_t i = 0; i < kBlock; ++i) ASSERT_TRUE(table.accepts(values[i], codes[i])) << values[i];
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Format, VectorLoops, testing::ValuesIn(simd::targets()),
                         [](const auto& info) { return simd::target_name(info.param); });

TEST(VectorLoopsCover, TheNarrowRowsOfTheTable) {
  for (DType dtype : {float16, bfloat16, float8_e4m3fn, float8_e5m2})
    EXPECT_TRUE(simd::covers(dtype.format()));
}

TEST(VectorLoopsCover, OnlyWhatFitsFloat32) {
  for (DType dtype : {float64, float32, int64, int32, uint8}) EXPECT_FALSE(simd::covers(dtype.format()));
  EXPECT_FALSE(simd::covers({"range beyond float32", 8, 7, 100, Specials::ieee}));
  EXPECT_FALSE(simd::covers({"largest beyond float32", 8, 7, 127, Specials::none}));
  EXPECT_FALSE(simd::covers({"subnormals below float32", 8, 7, 140, Specials::ieee}));
  EXPECT_FALSE(simd::covers({"too wide", 8, 23, 127, Specials::ieee}));
  EXPECT_TRUE(simd::covers({"float4_e2m1fn", 2, 1, 1, Specials::none}));
}

TEST(VectorLoopsCover, AtLeastOneInstructionSet) {
  EXPECT_FALSE(simd::targets().empty());
  for (std::int64_t target : simd::targets()) EXPECT_FALSE(simd::target_name(target).empty());
}

}  // namespace
}  // namespace halftone
