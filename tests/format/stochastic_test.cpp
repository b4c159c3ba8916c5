// SPDX-License-Identifier: Apache-2.0
//
// Stochastic rounding: how many of all the random numbers round away, counted and compared with the exact
// fraction; rows against one number at a time; and the mean.
#include <gtest/gtest.h>

#include <random>

#include "format/exact_oracle.h"
#include "format/rows_simd.h"
#include "halftone/random.h"

namespace halftone {
namespace {

Conversion stochastic(int bits, Overflow overflow = Overflow::to_special) {
  return {.rounding = Rounding::stochastic, .overflow = overflow, .random_bits = bits};
}

// Between a value of the format and the next one away from zero: how far, and the codes of both.
struct Between {
  double x;
  mpq_class fraction;
  std::uint64_t near, away;
};

std::uint64_t words_that_round_away(const Between& b, int bits) {
  const mpz_class numerator = b.fraction.get_num() << static_cast<unsigned>(bits);
  const mpz_class floor = numerator / b.fraction.get_den();
  return floor.get_ui();
}

// Every interval of the format (or each step-th), the one from zero and the one beyond the largest included,
// cut at places that separate the numbers of random bits, on both signs.
std::vector<Between> intervals(const Format& f, std::size_t step) {
  const oracle::Thresholds table(f, Overflow::to_special);
  const std::vector<double>& values = table.values();
  std::mt19937_64 random(11);
  std::vector<Between> all;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const bool border = i < 2 || i + 3 > values.size() || i + 1 == std::size_t{1} << f.mantissa_bits;
    if (!border && i % step != 0) continue;
    const double low = values[i], width = values[i + 1] - low;
    std::vector<double> places = {0, 0x1p-8, 0x1p-8 - 0x1p-40, 0.25, 0.5, 0.75, 1 - 0x1p-16, 1 - 0x1p-33};
    for (int k = 0; k < 3; ++k) places.push_back(static_cast<double>(random() >> 11) * 0x1p-53);
    for (double place : places) {
      const double x = low + place * width;  // rounded to a double, which is what is converted
      if (x >= values[i + 1]) continue;
      const mpq_class fraction = (mpq_class(x) - mpq_class(low)) / mpq_class(width);
      for (bool negative : {false, true}) {
        if (negative && !f.is_signed) continue;
        const auto& codes = table.side(negative).codes;
        all.push_back({negative ? -x : x, fraction, codes[i], codes[i + 1]});
      }
    }
  }
  return all;
}

class StochasticRounding : public testing::TestWithParam<std::string_view> {
 protected:
  const Format& row() const { return find_dtype(GetParam()).format(); }

  // The number of random numbers of so many bits that round away; any bits below those of the number are
  // noise.
  std::uint64_t count_away(const Between& b, int bits) const {
    std::uint64_t away = 0;
    for (std::uint64_t word = 0; word < std::uint64_t{1} << bits; ++word) {
      const std::uint64_t noise = word * 0x9E3779B9u & ((std::uint64_t{1} << (32 - bits)) - 1);
      const std::uint64_t code =
          encode(row(), b.x, stochastic(bits), static_cast<std::uint32_t>(word << (32 - bits) | noise));
      if (code != b.near && code != b.away) return ~std::uint64_t{0};
      away += code == b.away && b.away != b.near ? 1 : 0;
    }
    return away;
  }
};

TEST_P(StochasticRounding, RoundsAwayForExactlyTheFractionOfTheRandomNumbers) {
  for (const Between& b : intervals(row(), 1))
    for (int bits : {1, 2, 4, 8})
      ASSERT_EQ(count_away(b, bits), b.away == b.near ? 0 : words_that_round_away(b, bits))
          << b.x << " " << bits;
  for (const Between& b : intervals(row(), 1 << 16))  // the borders
    if (b.x >= 0) {
      ASSERT_EQ(count_away(b, 16), b.away == b.near ? 0 : words_that_round_away(b, 16)) << b.x;
    }
}

// The same number with as few bits as it needs.
Exact shortest(double x) {
  Exact number = exact(x);
  for (; number.n != 0 && number.n % 2 == 0; number.n /= 2) ++number.exponent;
  return number;
}

// With more bits than can be counted: the last random number that stays and the first that does not.
void check_turn(const Format& f, const Between& b, int bits) {
  const std::uint64_t turn = (std::uint64_t{1} << bits) - words_that_round_away(b, bits);
  const auto expect = [&](std::uint64_t n, std::uint64_t code) {
    const auto random = static_cast<std::uint32_t>(n << (32 - bits));
    ASSERT_EQ(encode(f, b.x, stochastic(bits), random), code) << f.name << " " << b.x << " " << bits;
    ASSERT_EQ(encode(f, shortest(b.x), stochastic(bits), random), code)
        << f.name << " " << b.x << " " << bits;
  };
  expect(0, b.near);
  expect(turn - 1, b.near);
  if (turn >> bits != 0) return;  // never
  expect(turn, b.away);
  expect((std::uint64_t{1} << bits) - 1, b.away);
}

TEST_P(StochasticRounding, TurnsAtTheExactRandomNumber) {
  for (const Between& b : intervals(row(), 1))
    for (int bits : {17, 24, 32}) ASSERT_NO_FATAL_FAILURE(check_turn(row(), b, bits));
}

TEST_P(StochasticRounding, SaturatesWhereItIsTold) {
  const double largest = max_finite(row());
  for (std::uint32_t word : {0u, 0x80000000u, ~0u}) {
    EXPECT_EQ(decode(row(), encode(row(), largest * 1.01, stochastic(16, Overflow::saturate), word)),
              largest);
    EXPECT_EQ(decode(row(), encode(row(), largest, stochastic(16), word)), largest);
  }
}

INSTANTIATE_TEST_SUITE_P(Format, StochasticRounding,
                         testing::Values("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float6_e2m3fn",
                                         "float4_e2m1fn", "binary8p4se", "binary8p1uf", "ue5m3", "fixed8m6",
                                         "int4"),
                         [](const auto& info) { return std::string(info.param); });

TEST(StochasticRounding, OfFormatsOfSixteenBitsTurnsAtTheExactRandomNumberToo) {
  for (DType dtype : {float16, bfloat16})
    for (const Between& b : intervals(dtype.format(), 101))
      for (int bits : {8, 16, 32}) ASSERT_NO_FATAL_FAILURE(check_turn(dtype.format(), b, bits));
}

// The random number of an element, as conversion.h says.
std::uint32_t random_of(const RandomWords& random, int bits, std::uint64_t element) {
  const std::uint64_t index = random.first + element;
  if (bits > 16) return random_bits(random.seed, random.stream, index);
  const std::uint32_t word = random_bits(random.seed, random.stream, index / 2);
  return index % 2 == 0 ? word << 16 : word & 0xFFFF0000u;
}

template <class Real>
std::vector<Real> values_of_all_sizes(std::size_t count) {
  std::mt19937_64 random(12);
  std::vector<Real> values(count);
  for (Real& value : values) {
    const double magnitude =
        std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 50) - 30);
    value = static_cast<Real>(random() % 2 == 0 ? magnitude : -magnitude);
  }
  values[count / 2] = std::numeric_limits<Real>::infinity();
  values[count / 3] = std::numeric_limits<Real>::denorm_min();
  return values;
}

// Any length, offset and place of the first element; whole, and in pieces.
template <class Real>
void check_rows(DType dtype) {
  const std::vector<Real> values = values_of_all_sizes<Real>(4600);
  const auto bytes = static_cast<std::size_t>(dtype.bytes());
  for (int bits : {1, 4, 16, 17, 32})
    for (std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1023}, std::uint64_t{1} << 40})
      for (std::size_t length :
           {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{33}, std::size_t{4500}}) {
        const RandomWords random{77, streams::rounding, first};
        const std::size_t offset = (length + first) % 4;
        std::vector<std::uint8_t> whole(length * bytes + 8), pieces(length * bytes + 8);
        const auto count = static_cast<std::int64_t>(length);
        encode_row(dtype, values.data() + offset, whole.data() + offset, count, stochastic(bits), random);
        for (std::int64_t begin = 0, size = 1; begin < count; begin += size, size = size * 3 + 1) {
          const RandomWords rest{77, streams::rounding, first + static_cast<std::uint64_t>(begin)};
          encode_row(dtype, values.data() + offset + begin,
                     pieces.data() + offset + static_cast<std::size_t>(begin) * bytes,
                     std::min(size, count - begin), stochastic(bits), rest);
        }
        ASSERT_EQ(whole, pieces) << dtype.name() << " " << bits << " " << first << " " << length;
        for (std::size_t i = 0; i < length; ++i)
          ASSERT_EQ(load_code(dtype, whole.data() + offset, static_cast<std::int64_t>(i)),
                    encode(dtype.format(), static_cast<double>(values[offset + i]), stochastic(bits),
                           random_of(random, bits, i)))
              << dtype.name() << " " << bits << " " << first << " " << length << " at " << i;
      }
}

TEST(StochasticRows, AreTheRoundingsOfTheirElementsOnEveryInstructionSet) {
  for (std::string_view name :
       {"bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "tfloat32", "binary8p4se",
        "fixed8m6", "int8", "float8_e8m0fnu", "ue5m3", "float32"}) {
    for (std::int64_t target : simd::targets()) {
      SCOPED_TRACE(simd::target_name(target));
      simd::use_target(target);
      check_rows<float>(find_dtype(name));
      if (target == simd::targets().front()) check_rows<double>(find_dtype(name));
      simd::use_target(0);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The mean over many elements lies within five standard deviations of the value, and of the share of a unit
// that the random bits can not see; in the subnormal range and below the smallest number too.
TEST(StochasticRows, AreRightOnTheAverage) {
  constexpr std::int64_t kCount = 1 << 16;
  std::uint64_t stream = 0;
  for (DType dtype : {bfloat16, float16, float8_e4m3fn}) {
    const Format& f = dtype.format();
    const double smallest = min_subnormal(f), normal = min_normal(f);
    for (double x : {1.3, -1.7, 1000.0 / 7, normal * 1.0371, normal * 0.7377, -smallest * 2.6, smallest * 0.3,
                     smallest * 0.0123, max_finite(f) * 0.97}) {
      const auto single = static_cast<float>(x);
      const double value = static_cast<double>(single);
      const std::vector<float> values(kCount, single);
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(kCount * dtype.bytes()));
      for (int bits : {8, 16, 32}) {
        encode_row(dtype, values.data(), codes.data(), kCount, stochastic(bits), {5, ++stream, 0});
        const double near = decode(f, encode(f, value, {.rounding = Rounding::toward_zero}));
        double unit = 0;
        std::int64_t away = 0;
        for (std::int64_t i = 0; i < kCount; ++i) {
          const double rounded = decode(f, load_code(dtype, codes.data(), i));
          if (rounded != near) ++away, unit = std::fabs(rounded - near);
        }
        if (unit == 0) unit = smallest;
        const double fraction = std::fabs(value - near) / unit;
        const double deviation = std::sqrt(fraction * (1 - fraction) / kCount);
        const double share = static_cast<double>(away) / kCount;
        EXPECT_LE(share, fraction + 5 * deviation) << dtype.name() << " " << x << " " << bits;
        EXPECT_GE(share, fraction - std::ldexp(1.0, -bits) - 5 * deviation)
            << dtype.name() << " " << x << " " << bits;
      }
    }
  }
}

}  // namespace
}  // namespace halftone
