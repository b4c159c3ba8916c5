// SPDX-License-Identifier: Apache-2.0
//
// Rows rounded without codes against the codec, bit for bit: formats with vector loops and without, every
// rounding, every instruction set this processor has, in whatever state the processor is.
#include "halftone/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "format/rounding_support.h"
#include "format/rounding_words.h"

namespace halftone {
namespace {

using namespace rounding_support;

// Every code of bfloat16, and as many float32s in between.
std::vector<float> every_bfloat16() {
  std::vector<float> values;
  for (std::uint32_t code = 0; code < 0x10000; ++code)
    for (const std::uint32_t rest : {0u, (code * 40503u) & 0xFFFFu})
      values.push_back(std::bit_cast<float>(code << 16 | rest));
  return values;
}

std::vector<float> by_the_codec(const Format& format, const std::vector<float>& values, const Conversion& c,
                                const RandomWords& random, float up, float down) {
  std::vector<std::uint32_t> words(values.size());
  rounding_words(random, c.random_bits, words.data(), static_cast<std::int64_t>(words.size()));
  std::vector<float> rounded;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i] * up;
    const std::uint64_t code = encode(format, static_cast<double>(x), c, words[i]);
    rounded.push_back(std::isfinite(x) ? static_cast<float>(decode(format, code)) * down : kNan);
  }
  return rounded;
}

TEST(RoundRow, IsEncodingAndDecodingUnderEveryRounding) {
  const std::vector<float> values = every_bfloat16();
  const auto count = static_cast<std::int64_t>(values.size());
  for (const char* name : {"float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
                           "float8_e4m3fnuz", "fixed8m6", "float16", "bfloat16", "float32", "e5m9", "e8m3"})
    for (const Conversion& c : conversions())
      for (const int k : {0, 9, -120}) {
        SCOPED_TRACE(std::string(name) + ", " + describe(c));
        const DType dtype = find_dtype(name);
        const float up = std::ldexp(1.0f, k), down = std::ldexp(1.0f, -k);
        const std::vector<float> expected = by_the_codec(dtype.format(), values, c, {3, 4, 5}, up, down);
        on_each_target([&] {
          std::vector<float> rounded(values.size());
          round_row(dtype, {float32, values.data(), float32, rounded.data()}, count, c, {3, 4, 5}, up, down);
          expect_same(rounded, expected);
        });
        if (HasFatalFailure()) return;
      }
}

TEST(RoundRow, TakesAnyLengthInPlaceAndWritesNothingElse) {
  const Conversion stochastic{Rounding::stochastic, Overflow::saturate};
  for (const Conversion& c : {Conversion{.overflow = Overflow::saturate}, stochastic})
    on_each_target([&] {
      for (std::int64_t count = 0; count < 70; ++count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3f * static_cast<float>(i) - 5;
        const std::vector<float> expected =
            by_the_codec(float8_e4m3fn.format(), values, c, {3, 4, 6}, 8, 0.125);
        std::vector<float> place = values;
        place.push_back(77);
        round_row(float8_e4m3fn, {float32, place.data(), float32, place.data()}, count, c, {3, 4, 6}, 8,
                  0.125);
        ASSERT_EQ(place.back(), 77);
        place.pop_back();
        expect_same(place, expected);
      }
    });
}

// Results that the format written has to round too: subnormal ones, and those of a longer format.
TEST(RoundRow, ReadsAndWritesAnyFormat) {
  const std::vector<float> values = every_bfloat16();
  const auto count = static_cast<std::int64_t>(values.size());
  for (const char* name : {"float8_e5m2", "e5m9"})
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic})
      for (const DType from : {float32, bfloat16, float16})
        for (const DType to : {float32, bfloat16, float16}) {
          SCOPED_TRACE(std::string(name) + ", " + std::string(from.name()) + " to " + std::string(to.name()));
          const DType format = find_dtype(name);
          const Conversion c{rounding, Overflow::saturate};
          const float up = 0x1p120f, down = 0x1p-120f;
          std::vector<std::byte> codes(values.size() * 4), expected(values.size() * 4);
          std::vector<float> read(values.size());
          encode_row(from, values.data(), codes.data(), count);
          decode_row(from, codes.data(), read.data(), count);
          read = by_the_codec(format.format(), read, c, {3, 4, 5}, up, down);
          encode_row(to, read.data(), expected.data(), count);
          on_each_target([&] {
            std::vector<std::byte> result(values.size() * 4);
            round_row(format, {from, codes.data(), to, result.data()}, count, c, {3, 4, 5}, up, down);
            ASSERT_EQ(result, expected);
          });
          if (HasFatalFailure()) return;
        }
}

#if defined(__SSE2__)
TEST(RoundRow, DoesNotDependOnTheStateOfTheProcessor) {
  const std::vector<float> values = every_bfloat16();
  const auto count = static_cast<std::int64_t>(values.size());
  const auto rounded = [&] {
    std::vector<float> result(values.size());
    round_row(float8_e5m2, {float32, values.data(), float32, result.data()}, count,
              {.overflow = Overflow::saturate}, {}, 0x1p-100f, 0x1p100f);
    return result;
  };
  expect_the_same_in_any_state(rounded);
}
#endif

}  // namespace
}  // namespace halftone
