// SPDX-License-Identifier: Apache-2.0
//
// The vector loops of blocks against the codec, bit for bit, on every instruction set, under every rounding
// and state of the processor. The codec comes into play for the last, short block: of values that fill it and
// repeat in a long row, both must make the same codes.
#include "format/block_simd.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "format/block_scale.h"
#include "format/rounding_words.h"
#include "format/rows_simd.h"
#include "halftone/random.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

std::vector<BlockFormat> formats() {
  std::vector<BlockFormat> all(std::begin(kBlockFormats), std::end(kBlockFormats));
  for (const char* name :
       {"float8_e4m3fnuz:16:float8_e8m0fnu:rceil", "binary8p4se:32:float8_e8m0fnu:even",
        "e5m1:32:float8_e8m0fnu:floor", "int4:16:float16:nearest", "e3m2fn:48:bfloat16:ceil"})
    all.push_back(find_block_format(name));
  return all;
}

// Rows whose blocks span the range of float32, with zeros, subnormals and the largest.
std::vector<float> rows(const BlockFormat& f) {
  std::vector<float> values;
  for (int exponent = -148; exponent < 128; exponent += 3) {
    for (int i = 0; i < f.length; ++i) {
      const auto at = static_cast<std::uint64_t>(values.size());
      const float x = i % 7 == 3 ? 0.0f : std::ldexp(random_uniform_at(5, 1, at), exponent - i % 5 * 4);
      values.push_back(random_bits(5, 2, at) % 2 != 0 ? -x : x);
    }
  }
  values[static_cast<std::size_t>(f.length)] = -0.0f;
  values[static_cast<std::size_t>(2 * f.length)] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

struct Encoded {
  std::vector<std::uint8_t> codes, scales;
  std::vector<float> values;
  bool operator==(const Encoded& other) const {
    if (codes != other.codes || scales != other.scales || values.size() != other.values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::bit_cast<std::uint32_t>(values[i]) != std::bit_cast<std::uint32_t>(other.values[i]) &&
          !(std::isnan(values[i]) && std::isnan(other.values[i])))
        return false;
    return true;
  }
};

Encoded encode_row_of_blocks(const BlockFormat& f, const std::vector<float>& values,
                             const Conversion& conversion) {
  const auto count = static_cast<std::int64_t>(values.size());
  Encoded result;
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_bytes(f, count)));
  result.scales.resize(static_cast<std::size_t>(block_count(f, count) * f.scale.bytes()));
  encode_blocks(f, values.data(), count, packed.data(), result.scales.data(), 1, conversion, {1, 2, 0});
  result.codes.resize(values.size());
  unpack_codes(f.element.format().bits(), packed.data(), count, result.codes.data());
  result.values.resize(values.size());
  decode_blocks(f, packed.data(), result.scales.data(), count, result.values.data());
  return result;
}

// The definition in the codec's own terms, one element at a time.
Encoded by_the_codec(const BlockFormat& f, const std::vector<float>& values, const Conversion& conversion) {
  Conversion saturating = conversion;
  saturating.overflow = Overflow::saturate;
  const BlockScaler scaler(f, 1);
  Encoded result;
  std::vector<std::uint32_t> words(values.size());
  rounding_words({1, 2, 0}, conversion.random_bits, words.data(), static_cast<std::int64_t>(words.size()));
  const auto blocks = static_cast<std::int64_t>(values.size()) / f.length;
  result.scales.resize(static_cast<std::size_t>(blocks * f.scale.bytes()));
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::uint32_t amax = 0;
    for (std::int64_t i = block * f.length; i < (block + 1) * f.length; ++i)
      amax = std::max(amax, std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(i)]) & 0x7FFFFFFF);
    std::int32_t exponent = 0;
    float factor = 0;
    scaler(&amax, 1, result.scales.data() + block * f.scale.bytes(), &exponent, &factor);
    const double scale = decode(f.scale.format(), load_code(f.scale, result.scales.data(), block));
    for (std::int64_t i = block * f.length; i < (block + 1) * f.length; ++i) {
      const float x = values[static_cast<std::size_t>(i)];
      Exact parts = exact(static_cast<double>(scaler.power_of_two() ? x : x * factor));
      parts.exponent -= exponent == BlockScaler::kNoScale ? 0 : exponent;
      const std::uint64_t code =
          exponent == BlockScaler::kNoScale
              ? detail::nan_code(f.element.format())
              : encode(f.element.format(), parts, saturating, words[static_cast<std::size_t>(i)]);
      result.codes.push_back(static_cast<std::uint8_t>(code));
      result.values.push_back(static_cast<float>(decode(f.element.format(), code) * scale));
    }
  }
  return result;
}

class BlockLoops : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { simd::use_target(GetParam()); }
  void TearDown() override { simd::use_target(0); }
};

TEST_P(BlockLoops, GiveTheBitsOfTheCodecUnderEveryRounding) {
  for (const BlockFormat& f : formats()) {
    ASSERT_TRUE(simd::covers(f));
    const std::vector<float> values = rows(f);
    for (int rounding = 0; rounding <= static_cast<int>(Rounding::stochastic); ++rounding) {
      Conversion conversion;
      conversion.rounding = static_cast<Rounding>(rounding);
      ASSERT_TRUE(encode_row_of_blocks(f, values, conversion) == by_the_codec(f, values, conversion))
          << f.name << " " << name(conversion.rounding);
    }
    Conversion flush;
    flush.subnormals = Subnormals::flush;
    flush.negative_zero = NegativeZero::drop;
    ASSERT_TRUE(encode_row_of_blocks(f, values, flush) == by_the_codec(f, values, flush)) << f.name;
  }
}

#if defined(__SSE2__)
TEST_P(BlockLoops, DoNotDependOnTheStateOfTheProcessor) {
  for (const BlockFormat& f : formats()) {
    const std::vector<float> values = rows(f);
    const Encoded expected = encode_row_of_blocks(f, values, {});
    const unsigned before = _mm_getcsr();
    for (unsigned state :
         {0x8040u /* flush */, 0x2000u /* down */, 0x4000u /* up */, 0x6000u /* to zero */}) {
      _mm_setcsr((before & ~0x6000u) | state);
      const Encoded then = encode_row_of_blocks(f, values, {});
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_TRUE(then == expected) << f.name << std::hex << " " << state;
      EXPECT_EQ(after & 0xE040u, ((before & ~0x6000u) | state) & 0xE040u);
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Blocks, BlockLoops, testing::ValuesIn(simd::targets()),
                         [](const auto& info) { return simd::target_name(info.param); });

TEST(BlockLoopsCover, TheRowsOfTheTableAndNotOddLengths) {
  for (const BlockFormat& f : kBlockFormats) EXPECT_TRUE(simd::covers(f)) << f.name;
  EXPECT_FALSE(simd::covers(find_block_format("float4_e2m1fn:8:ue5m3:nearest")));
  EXPECT_FALSE(simd::covers(find_block_format("ue3m3:16:float8_e8m0fnu:ceil")));
}

}  // namespace
}  // namespace halftone
