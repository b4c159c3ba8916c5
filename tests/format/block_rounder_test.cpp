// SPDX-License-Identifier: Apache-2.0
//
// Blocks rounded without codes against those encoded and decoded, bit for bit: formats with vector loops and
// without, every rounding, rows and columns, every instruction set this processor has.
#include "halftone/rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "format/rounding_support.h"
#include "halftone/error.h"
#include "halftone/random.h"

namespace halftone {
namespace {

using namespace rounding_support;

// Blocks of very different sizes: all binades of float32, some of them zeros or not finite.
std::vector<float> varied(std::int64_t count, int length) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const auto block = i / length;
    const float x = std::ldexp(2 * random_uniform_at(5, 1, at) - 1, static_cast<int>(block * 37 % 270 - 145));
    values.push_back(block % 7 == 5 ? std::copysign(0.0f, x) : i % 11 == 3 ? x / 4096 : x);
    if (block % 41 == 2 && i % length == 1) values.back() = kNan;
    if (block % 41 == 3 && i % length == 0) values.back() = -kInf;
  }
  return values;
}

std::vector<float> by_codes(const BlockFormat& f, std::vector<float> values, float tensor_scale,
                            const Conversion& c, const RandomWords& random) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> elements(static_cast<std::size_t>(packed_bytes(f, count)));
  std::vector<std::byte> scales(static_cast<std::size_t>(block_count(f, count) * f.scale.bytes()));
  encode_blocks(f, values.data(), count, elements.data(), scales.data(), tensor_scale, c, random);
  decode_blocks(f, elements.data(), scales.data(), count, values.data(), tensor_scale);
  return values;
}

std::vector<BlockFormat> formats() {
  std::vector<BlockFormat> all(std::begin(kBlockFormats), std::end(kBlockFormats));
  for (const char* name :
       {"mxfp8_e4m3:rceil", "mxfp4:even", "mxfp4:ceil", "nvfp4:rceil", "e3m2fn:48:bfloat16:ceil",
        "float8_e4m3fnuz:16:float8_e8m0fnu:rceil", "float4_e2m1fn:8:ue5m3:nearest",
        "float4_e2m1fn:32:float6_e3m2fn:nearest", "int4:16:float16:nearest"})
    all.push_back(find_block_format(name));
  return all;
}

TEST(BlockRounder, GivesTheBitsOfEncodedRowsUnderEveryRounding) {
  for (const BlockFormat& f : formats())
    for (const Conversion& c : conversions())
      for (const std::int64_t count : {300 * f.length, 5 * f.length + 3, 1}) {
        SCOPED_TRACE(std::string(f.name) + ", " + describe(c) + ", " + std::to_string(count));
        const float tensor_scale = f.has_tensor_scale ? 0x1p-5f : 1;
        const std::vector<float> values = varied(count, f.length);
        const std::vector<float> expected = by_codes(f, values, tensor_scale, c, {3, 4, 5});
        on_each_target([&] {
          std::vector<float> place = values;
          BlockRounder(f, tensor_scale, c)
              .row({float32, place.data(), float32, place.data()}, count, {3, 4, 5});
          expect_same(place, expected);
        });
        if (HasFatalFailure()) return;
      }
}

TEST(BlockRounder, GivesColumnsTheBitsOfRows) {
  for (const BlockFormat& f : formats())
    for (const Conversion& c :
         {Conversion{}, Conversion{.rounding = Rounding::stochastic}, Conversion{Rounding::toward_zero}})
      for (const std::int64_t columns : {1, 15, 16, 40, 150})
        for (const std::int64_t length : {1, 31, 64, 100}) {
          SCOPED_TRACE(std::string(f.name) + ", " + describe(c) + ", " + std::to_string(columns) + " of " +
                       std::to_string(length));
          const std::int64_t stride = columns + 3, padded = block_count(f, length) * f.length;
          const std::vector<float> values = varied(length * stride, 29);
          std::vector<float> expected = values;  // what lies between is left alone
          for (std::int64_t column = 0; column < columns; ++column) {
            std::vector<float> one;
            for (std::int64_t i = 0; i < length; ++i)
              one.push_back(values[static_cast<std::size_t>(i * stride + column)]);
            one = by_codes(f, one, 1, c, {3, 4, 7 + static_cast<std::uint64_t>(column * padded)});
            for (std::int64_t i = 0; i < length; ++i)
              expected[static_cast<std::size_t>(i * stride + column)] = one[static_cast<std::size_t>(i)];
          }
          on_each_target([&] {
            std::vector<float> place = values;
            BlockRounder(f, 1, c).columns({float32, place.data(), float32, place.data()}, length, columns,
                                          stride, {3, 4, 7});
            expect_same(place, expected);
          });
          if (HasFatalFailure()) return;
        }
}

TEST(BlockRounder, RefusesWhatBlocksRefuse) {
  for (const char* name : {"mxfp4", "mxint8"})
    for (const float scale : {0.0f, kInf})
      EXPECT_THROW(BlockRounder(find_block_format(name), scale, {}), ValueError) << name;
  BlockFormat odd = find_block_format("mxfp4");
  for (const int length : {0, -1}) {
    odd.length = length;
    EXPECT_THROW(BlockRounder(odd, 1, {}), ValueError);
  }
}

// Rows, and columns of which some fill no vector, from and to formats with loops and without.
TEST(BlockRounder, ReadsAndWritesAnyFormat) {
  for (const char* name : {"mxfp8_e4m3", "nvfp4", "mxint8"})
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic})
      for (const DType from : {float32, bfloat16, float16})
        for (const DType to : {float32, bfloat16, float16}) {
          SCOPED_TRACE(std::string(name) + ", " + std::string(from.name()) + " to " + std::string(to.name()));
          constexpr std::int64_t kLines = 70, kColumns = 37, kCount = kLines * kColumns;
          std::vector<float> values = varied(kCount, 37);
          std::vector<std::byte> codes(4 * kCount);
          encode_row(from, values.data(), codes.data(), kCount);
          decode_row(from, codes.data(), values.data(), kCount);
          on_each_target([&] {
            for (const bool across : {false, true}) {
              const auto round = [&](const RowPair& rows) {
                BlockRounder rounder(find_block_format(name), 1, Conversion{rounding});
                if (across)
                  rounder.columns(rows, kLines, kColumns, kColumns, {3, 4, 5});
                else
                  rounder.row(rows, kCount, {3, 4, 5});
              };
              std::vector<float> rounded = values;
              round({float32, rounded.data(), float32, rounded.data()});
              std::vector<std::byte> expected(4 * kCount), result(4 * kCount);
              encode_row(to, rounded.data(), expected.data(), kCount);
              round({from, codes.data(), to, result.data()});
              ASSERT_EQ(result, expected);
            }
          });
          if (HasFatalFailure()) return;
        }
}

#if defined(__SSE2__)
TEST(BlockRounder, DoesNotDependOnTheStateOfTheProcessor) {
  const std::vector<float> values = varied(300 * 32, 32);
  const auto rounded = [&] {
    std::vector<float> place = values;
    BlockRounder(find_block_format("mxfp8_e4m3"), 1, {})
        .row({float32, place.data(), float32, place.data()}, static_cast<std::int64_t>(place.size()));
    return place;
  };
  expect_the_same_in_any_state(rounded);
}
#endif

}  // namespace
}  // namespace halftone
