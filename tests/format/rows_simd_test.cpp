// SPDX-License-Identifier: Apache-2.0
//
// The vector loops against the codec, bit for bit: every row they cover, every rounding and policy, on every
// instruction set this processor has, in whatever state the processor is.
#include "format/rows_simd.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>

#include "format/each_row.h"
#include "halftone/random.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Format> covered_rows() {
  std::vector<Format> rows;
  for (const Format& row : oracle::rows(31))
    if (simd::covers(row)) rows.push_back(row);
  return rows;
}

std::vector<Conversion> every_conversion() {
  std::vector<Conversion> all;
  for (int rounding = 0; rounding < 7; ++rounding)
    for (Overflow overflow : {Overflow::to_special, Overflow::saturate, Overflow::keep_infinity})
      for (Subnormals subnormals : {Subnormals::keep, Subnormals::flush})
        for (NegativeZero zero : {NegativeZero::keep, NegativeZero::drop})
          for (MissingNan nan : {MissingNan::zero, MissingNan::largest})
            all.push_back({static_cast<Rounding>(rounding), overflow, subnormals, zero, nan});
  for (int bits : {1, 2, 4, 8, 16}) all.push_back({.rounding = Rounding::stochastic, .random_bits = bits});
  return all;
}

// Values, middles, quarters and their neighbours at every border and between; all binades; all kinds of NaN.
std::vector<float> sample(const Format& row) {
  std::vector<float> values;
  const auto around = [&](double exact) {
    const auto value = static_cast<float>(exact);
    for (float x :
         {value, std::nextafter(value, 0.0f), std::nextafter(value, std::numeric_limits<float>::infinity())})
      values.insert(values.end(), {x, -x});
  };
  const std::uint64_t last = detail::max_code(row), normal = std::uint64_t{1} << row.mantissa_bits;
  std::vector<std::uint64_t> codes;
  for (std::uint64_t border : {std::uint64_t{0}, normal - std::min<std::uint64_t>(normal, 3),
                               last - std::min<std::uint64_t>(last, 3)})
    for (std::uint64_t i = 0; i < 6; ++i) codes.push_back(std::min(border + i, last));
  for (std::uint64_t code = 0; code <= last; code += last / 150 + 1) codes.push_back(code);
  for (std::uint64_t code : codes) {
    const double value = oracle::value_of(row, code);
    const oracle::Meaning meaning = oracle::meaning_of(row, code);
    const double step = std::ldexp(1.0, meaning.exponent);
    for (double part : {0.0, 0.25, 0.5, 0.75, 1.0}) around(value + part * step);
  }
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 1500007)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t bits : {0u, 1u, 0x007FFFFFu, 0x00800000u, 0x7F7FFFFFu, 0x7F800000u, 0x7F800001u,
                             0x7FC00000u, 0x7FFFFFFFu, 0x7FA5A5A5u})
    for (std::uint32_t sign : {0u, 0x80000000u}) values.push_back(std::bit_cast<float>(bits | sign));
  return values;
}

class VectorLoops : public RowTest {
 protected:
  void TearDown() override { simd::use_target(0); }

  template <class Body>
  void on_each_target(const Body& body) const {
    for (std::int64_t target : simd::targets()) {
      SCOPED_TRACE(simd::target_name(target));
      simd::use_target(target);
      body();
      if (HasFatalFailure()) return;
    }
  }

  Bytes encode_all(const std::vector<float>& values, const Conversion& c, const std::uint32_t* words) const {
    Bytes codes(values.size() * static_cast<std::size_t>(row().bytes()));
    simd::encode_narrow(row(), values.data(), codes.data(), static_cast<std::int64_t>(values.size()), c,
                        words);
    return codes;
  }

  static const std::uint32_t* if_used(const Conversion& c, const std::vector<std::uint32_t>& words) {
    return c.rounding == Rounding::stochastic ? words.data() : nullptr;
  }

  // By the codec, one at a time.
  Bytes expected(const std::vector<float>& values, const Conversion& c, const std::uint32_t* words) const {
    Bytes codes(values.size() * static_cast<std::size_t>(row().bytes()));
    for (std::size_t i = 0; i < values.size(); ++i)
      store_code(dtype(), codes.data(), static_cast<std::int64_t>(i),
                 encode(row(), static_cast<double>(values[i]), c, words == nullptr ? 0 : words[i]));
    return codes;
  }

  void expect_same(const Bytes& codes, const Bytes& expected, const std::vector<float>& values,
                   const Conversion& c) const {
    if (codes == expected) return;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i)
      ASSERT_EQ(load_code(dtype(), codes.data(), i), load_code(dtype(), expected.data(), i))
          << describe(c) << ": " << std::hexfloat << values[static_cast<std::size_t>(i)] << " at " << i;
    FAIL() << "bits that belong to no code differ";
  }
};

std::vector<std::uint32_t> random_words(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  random_bits(1, 2, 3, words.data(), static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; i += 5) words[i] = i % 2 == 0 ? 0 : ~0u;
  return words;
}

TEST_F(VectorLoops, DecodeEveryCode) {
  each_row(covered_rows(), [&] {
    const std::size_t count = std::size_t{1} << std::min(row().bits(), 20);
    const std::size_t step = (std::size_t{1} << row().bits()) / count;
    Bytes codes(count * static_cast<std::size_t>(row().bytes()));
    for (std::size_t i = 0; i < count; ++i)
      store_code(dtype(), codes.data(), static_cast<std::int64_t>(i), i * step);
    on_each_target([&] {
      std::vector<float> values(count);
      simd::decode_narrow(row(), codes.data(), values.data(), static_cast<std::int64_t>(count));
      for (std::size_t i = 0; i < count; ++i) {
        const auto expected = static_cast<float>(oracle::value_of(row(), i * step));
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(values[i])) << i * step;
          ASSERT_EQ(std::signbit(values[i]), std::signbit(expected)) << i * step;
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected))
              << i * step;
        }
      }
    });
  });
}

TEST_F(VectorLoops, EncodeByEveryRoundingAndPolicy) {
  each_row(covered_rows(), [&] {
    static const std::vector<Conversion> conversions = every_conversion();
    const std::vector<float> values = sample(row());
    const std::vector<std::uint32_t> words = random_words(values.size());
    for (const Conversion& c : conversions) {
      const Bytes codes = expected(values, c, if_used(c, words));
      on_each_target([&] { expect_same(encode_all(values, c, if_used(c, words)), codes, values, c); });
      if (HasFatalFailure()) return;
    }
  });
}

TEST_F(VectorLoops, EncodeAStrideOverAllOfFloat32) {
  each_row(covered_rows(), [&] {
    std::vector<float> values;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 131101)
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const std::vector<std::uint32_t> words = random_words(values.size());
    for (const Conversion& c : {default_conversion(row()), Conversion{.rounding = Rounding::stochastic}}) {
      const Bytes codes = expected(values, c, if_used(c, words));
      on_each_target([&] { expect_same(encode_all(values, c, if_used(c, words)), codes, values, c); });
    }
  });
}

TEST_F(VectorLoops, TakeAnyLengthAtAnyAlignmentAndWriteNothingElse) {
  each_row(covered_rows(), [&] {
    constexpr std::size_t kLongest = 70;
    constexpr std::uint8_t kUntouched = 0xA5;
    std::vector<float> values(kLongest + 2);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (i % 3 == 0 ? -1.0f : 1.0f) * static_cast<float>(i) / 9;
    const std::vector<std::uint32_t> words = random_words(values.size());
    const auto bytes = static_cast<std::size_t>(row().bytes());
    const auto check = [&](std::size_t length, std::size_t offset, const Conversion& c) {
      const auto count = static_cast<std::int64_t>(length);
      const float* from = values.data() + offset % 2;
      std::vector<std::uint8_t> codes(offset + length * bytes + 8, kUntouched);
      simd::encode_narrow(row(), from, codes.data() + offset, count, c,
                          c.rounding == Rounding::stochastic ? words.data() + offset : nullptr);
      std::vector<float> back(length + 2, -7.0f);
      simd::decode_narrow(row(), codes.data() + offset, back.data() + 1, count);
      for (std::size_t i = 0; i < length; ++i) {
        const std::uint64_t code = encode(row(), static_cast<double>(from[i]), c, words[offset + i]);
        const auto value = static_cast<float>(decode(row(), code));
        ASSERT_EQ(load_code(dtype(), codes.data() + offset, static_cast<std::int64_t>(i)), code);
        ASSERT_TRUE(back[i + 1] == value || (std::isnan(back[i + 1]) && std::isnan(value)));
      }
      for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(codes[i], kUntouched);
      for (std::size_t i = offset + length * bytes; i < codes.size(); ++i) ASSERT_EQ(codes[i], kUntouched);
      ASSERT_EQ(back[0], -7.0f);
      ASSERT_EQ(back[length + 1], -7.0f);
    };
    on_each_target([&] {
      for (std::size_t length = 0; length <= kLongest; ++length)
        for (std::size_t offset : {0, 1, 2, 3, 5})
          for (const Conversion& c : {Conversion{}, Conversion{.rounding = Rounding::stochastic}}) {
            if (HasFatalFailure() || offset + length > words.size()) return;
            check(length, offset, c);
          }
    });
  });
}

TEST_F(VectorLoops, EncodeInPlace) {
  each_row(covered_rows(), [&] {
    const std::vector<float> values = sample(row());
    const std::vector<std::uint32_t> words = random_words(values.size());
    on_each_target([&] {
      for (const Conversion& c :
           {Conversion{}, Conversion{.rounding = Rounding::stochastic, .random_bits = 8}}) {
        const Bytes apart = encode_all(values, c, if_used(c, words));
        std::vector<float> place = values;
        simd::encode_narrow(row(), place.data(), place.data(), static_cast<std::int64_t>(place.size()), c,
                            if_used(c, words));
        ASSERT_EQ(std::memcmp(place.data(), apart.data(), apart.size()), 0) << describe(c);
      }
    });
  });
}

#if defined(__SSE2__)
TEST_F(VectorLoops, KeepSubnormalsAndTiesWhateverTheStateOfTheProcessor) {
  each_row(covered_rows(), [&] {
    const std::vector<float> values = sample(row());
    const std::vector<std::uint32_t> words = random_words(values.size());
    const auto same_bits = [](const std::vector<float>& a, const std::vector<float>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    const auto decode_all = [&](const Bytes& codes) {
      std::vector<float> decoded(values.size());
      simd::decode_narrow(row(), codes.data(), decoded.data(), static_cast<std::int64_t>(values.size()));
      return decoded;
    };
    const unsigned before = _mm_getcsr();
    on_each_target([&] {
      for (int rounding = 0; rounding < 7; ++rounding)
        for (Subnormals subnormals : {Subnormals::keep, Subnormals::flush}) {
          const Conversion c{.rounding = static_cast<Rounding>(rounding), .subnormals = subnormals};
          const Bytes codes = encode_all(values, c, if_used(c, words));
          const std::vector<float> decoded = decode_all(codes);
          for (unsigned state :
               {0x8040u /* flush */, 0x2000u /* down */, 0x4000u /* up */, 0x6000u /* to zero */, 0xE040u}) {
            _mm_setcsr((before & ~0x6000u) | state);
            const Bytes codes_then = encode_all(values, c, if_used(c, words));
            const std::vector<float> decoded_then = decode_all(codes);
            _mm_setcsr(before);
            ASSERT_TRUE(codes_then == codes) << std::hex << state << " " << describe(c);
            ASSERT_TRUE(same_bits(decoded_then, decoded)) << std::hex << state << " " << describe(c);
          }
        }
    });
  });
}
#endif

TEST(VectorLoopsCover, WhatFitsFloat32) {
  for (DType dtype : {tfloat32, float16, bfloat16, float8_e4m3fn, float8_e5m2, float6_e3m2fn, float4_e2m1fn})
    EXPECT_TRUE(simd::covers(dtype.format())) << dtype.name();
  for (std::string_view name :
       {"fixed8m6", "int8", "int16", "e5m12", "e4m11", "binary8p4se", "float8_e4m3fnuz"})
    EXPECT_TRUE(simd::covers(find_dtype(name).format())) << name;
  for (DType dtype : {float64, float32, int64, int32, uint8, float8_e8m0fnu})
    EXPECT_FALSE(simd::covers(dtype.format())) << dtype.name();
  EXPECT_FALSE(simd::covers({"range beyond float32", 8, 7, 100, Specials::ieee}));
  EXPECT_FALSE(simd::covers({"largest beyond float32", 8, 7, 127, Specials::none}));
  EXPECT_FALSE(simd::covers({"subnormals below float32", 8, 7, 140, Specials::ieee}));
  EXPECT_FALSE(simd::covers({"too wide", 8, 23, 127, Specials::ieee}));
}

TEST(VectorLoopsCover, AtLeastOneInstructionSet) {
  EXPECT_FALSE(simd::targets().empty());
  for (std::int64_t target : simd::targets()) EXPECT_FALSE(simd::target_name(target).empty());
}

}  // namespace
}  // namespace halftone
