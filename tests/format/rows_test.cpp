// SPDX-License-Identifier: Apache-2.0
//
// Whole rows against the codec, one code at a time, for every row there is and every way to reach it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "format/each_row.h"
#include "halftone/conversion.h"

namespace halftone {
namespace {

std::vector<Format> all_rows() {
  std::vector<Format> rows = oracle::rows(64);
  for (std::string_view name : {"binary16p2se", "binary16p1ue"})
    rows.push_back(*parse_format(name));  // beyond double
  return rows;
}

template <class Real>
bool same(Real a, Real b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(Real)) == 0;
}

// Values of every size the formats care about, ordinary ones, and the special ones.
template <class Real>
std::vector<Real> sample(std::size_t count) {
  std::mt19937_64 random(5);
  std::vector<Real> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double fraction = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
    const int exponent = static_cast<int>(random() % 60) - 30;
    values.push_back(static_cast<Real>((random() & 1 ? -1 : 1) * std::ldexp(fraction, exponent)));
  }
  const Real inf = std::numeric_limits<Real>::infinity();
  const std::vector<Real> special = {Real(0),
                                     -Real(0),
                                     inf,
                                     -inf,
                                     std::numeric_limits<Real>::quiet_NaN(),
                                     Real(0.5),
                                     Real(1.5),
                                     Real(254.5),
                                     Real(-129),
                                     std::numeric_limits<Real>::max(),
                                     std::numeric_limits<Real>::denorm_min()};
  for (std::size_t i = 0; i < special.size() && i < count; ++i) values[i * 7 % count] = special[i];
  return values;
}

class EveryRow : public RowTest {
 protected:
  template <class Real>
  void check_any_length_and_alignment() const {
    const auto bytes = static_cast<std::size_t>(dtype().bytes());
    const std::vector<Real> values = sample<Real>(72);
    for (std::size_t length = 0; length <= 70; ++length) {
      for (std::size_t offset : {0, 1, 3}) {
        const auto count = static_cast<std::int64_t>(length);
        std::vector<unsigned char> codes(offset + length * bytes + 4, 0xA5);
        encode_row(dtype(), values.data() + offset % 2, codes.data() + offset, count);
        std::vector<Real> back(length + 1, Real(-7));
        decode_row(dtype(), codes.data() + offset, back.data(), count);
        for (std::size_t i = 0; i < length; ++i) {
          const std::uint64_t code = load_code(dtype(), codes.data() + offset, static_cast<std::int64_t>(i));
          const Real value = values[offset % 2 + i];
          ASSERT_EQ(code, encode(dtype().format(), value)) << value;
          ASSERT_TRUE(same(back[i], static_cast<Real>(decode(dtype().format(), code)))) << back[i];
        }
        for (std::size_t i = offset + length * bytes; i < codes.size(); ++i) ASSERT_EQ(codes[i], 0xA5);
        ASSERT_EQ(back[length], Real(-7));
      }
    }
  }

  template <class Real>
  void check_long_row() const {
    const std::vector<Real> values = sample<Real>(5000);
    std::vector<unsigned char> codes(values.size() * static_cast<std::size_t>(dtype().bytes()));
    encode_row(dtype(), values.data(), codes.data(), 5000);
    std::vector<Real> back(values.size());
    decode_row(dtype(), codes.data(), back.data(), 5000);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t code = load_code(dtype(), codes.data(), static_cast<std::int64_t>(i));
      ASSERT_EQ(code, encode(dtype().format(), values[i])) << values[i];
      ASSERT_TRUE(same(back[i], static_cast<Real>(decode(dtype().format(), code)))) << back[i];
    }
  }

  template <class Real>
  void check_every_policy() const {
    const std::vector<Real> values = sample<Real>(600);
    const auto count = static_cast<std::int64_t>(values.size());
    for (int rounding = 0; rounding < 6; ++rounding)
      for (Overflow overflow : {Overflow::to_special, Overflow::saturate, Overflow::keep_infinity})
        for (Subnormals subnormals : {Subnormals::keep, Subnormals::flush})
          for (bool drop : {false, true}) {
            const Conversion c{static_cast<Rounding>(rounding), overflow, subnormals,
                               drop ? NegativeZero::drop : NegativeZero::keep,
                               drop ? MissingNan::largest : MissingNan::zero};
            std::vector<unsigned char> codes(values.size() * static_cast<std::size_t>(dtype().bytes()));
            encode_row(dtype(), values.data(), codes.data(), count, c);
            for (std::int64_t i = 0; i < count; ++i)
              ASSERT_EQ(load_code(dtype(), codes.data(), i),
                        encode(dtype().format(), static_cast<double>(values[static_cast<std::size_t>(i)]), c))
                  << describe(c) << " " << values[static_cast<std::size_t>(i)];
          }
  }

  template <class Real>
  void check_in_place() const {
    const auto bytes = static_cast<std::size_t>(dtype().bytes());
    if (bytes > sizeof(Real)) return;
    for (std::size_t length : {1, 5, 64, 513, 5000}) {
      const std::vector<Real> values = sample<Real>(length);
      const auto count = static_cast<std::int64_t>(length);
      std::vector<unsigned char> apart(length * bytes);
      for (Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
        const Conversion c{.rounding = rounding};
        encode_row(dtype(), values.data(), apart.data(), count, c, {1, 2, 3});
        std::vector<Real> place = values;
        encode_row(dtype(), place.data(), place.data(), count, c, {1, 2, 3});
        ASSERT_EQ(std::memcmp(place.data(), apart.data(), apart.size()), 0) << length;
      }
    }
  }
};

TEST_F(EveryRow, ConvertsFloatsOfAnyLengthAtAnyAlignment) {
  each_row(all_rows(), [&] { check_any_length_and_alignment<float>(); });
}
TEST_F(EveryRow, ConvertsDoublesOfAnyLengthAtAnyAlignment) {
  each_row(all_rows(), [&] { check_any_length_and_alignment<double>(); });
}
TEST_F(EveryRow, ConvertsLongRowsOfFloats) {
  each_row(all_rows(), [&] { check_long_row<float>(); });
}
TEST_F(EveryRow, ConvertsLongRowsOfDoubles) {
  each_row(all_rows(), [&] { check_long_row<double>(); });
}
TEST_F(EveryRow, ConvertsFloatsByEveryPolicy) {
  each_row(all_rows(), [&] { check_every_policy<float>(); });
}
TEST_F(EveryRow, ConvertsDoublesByEveryPolicy) {
  each_row(all_rows(), [&] { check_every_policy<double>(); });
}
TEST_F(EveryRow, ConvertsFloatsInPlace) {
  each_row(all_rows(), [&] { check_in_place<float>(); });
}
TEST_F(EveryRow, ConvertsDoublesInPlace) {
  each_row(all_rows(), [&] { check_in_place<double>(); });
}

TEST(Rows, DoublesAreRoundedOnceOnTheirWayToFloat16) {
  const double value = 1 + 0x1p-11 + 0x1p-40;
  std::uint16_t code = 0;
  encode_row(float16, &value, &code, 1);
  EXPECT_EQ(code, 0x3C01);
}

TEST(Rows, Float32AndFloat64AreCopiedBitForBit) {
  const std::vector<std::uint32_t> singles = {0x7F800001, 0xFFC12345, 0x80000000, 0x00000001};
  std::vector<std::uint32_t> there(singles.size()), back(singles.size());
  encode_row(float32, reinterpret_cast<const float*>(singles.data()), there.data(), 4);
  decode_row(float32, there.data(), reinterpret_cast<float*>(back.data()), 4);
  EXPECT_EQ(there, singles);
  EXPECT_EQ(back, singles);
  const std::vector<std::uint64_t> doubles = {0x7FF0000000000001, 0x8000000000000000, 1};
  std::vector<std::uint64_t> copy(doubles.size());
  encode_row(float64, reinterpret_cast<const double*>(doubles.data()), copy.data(), 3);
  EXPECT_EQ(copy, doubles);
  decode_row(float64, copy.data(), reinterpret_cast<double*>(copy.data()) + 0, 0);
  EXPECT_EQ(copy, doubles);
}

TEST(Rows, ARowOfTheProgramItselfConverts) {
  static constexpr Format kE5m7 = {"e5m7", 5, 7, 15, Specials::ieee};
  const std::vector<float> values = {1.0f, -0.1f, 70000.0f};
  std::vector<std::uint16_t> codes(3);
  std::vector<float> back(3);
  encode_row(DType(&kE5m7), values.data(), codes.data(), 3);
  decode_row(DType(&kE5m7), codes.data(), back.data(), 3);
  EXPECT_EQ(back[0], 1.0f);
  EXPECT_EQ(back[1], -0.10009765625f);
  EXPECT_EQ(back[2], std::numeric_limits<float>::infinity());
}

TEST(Rows, ManyFormatsInTurnDoNotDisturbOneAnother) {  // a thread keeps what it needed last
  std::array<float, 37> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i) - 1.5f;
  for (int round = 0; round < 3; ++round)
    for (const Format& format : kFormats) {
      if (!format.is_floating() || !format.is_signed || !format.has_zero) continue;
      const DType dtype = find_dtype(format.name);
      std::array<std::byte, 8 * 37> codes{};
      encode_row(dtype, values.data(), codes.data(), 37);
      std::array<float, 37> back;
      decode_row(dtype, codes.data(), back.data(), 37);
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(static_cast<double>(back[i]),
                  decode(format, encode(format, static_cast<double>(values[i]))))
            << format.name << " " << i;
    }
}

}  // namespace
}  // namespace halftone
