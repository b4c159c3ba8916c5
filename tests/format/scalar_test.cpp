// SPDX-License-Identifier: Apache-2.0
//
// Narrow numbers as values: how they are made, compared, printed and kept in containers. Their arithmetic is
// in scalar_arithmetic_test.cpp.
#include "halftone/scalar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/scalars.h"
#include "halftone/scalar_fmt.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

template <class T>
class ScalarOf : public testing::Test {};
TYPED_TEST_SUITE(ScalarOf, Scalars, ScalarNames);

TYPED_TEST(ScalarOf, IsAPlainValueThatNothingNarrowsToImplicitly) {
  using T = TypeParam;
  using Other = std::conditional_t<std::is_same_v<T, float16_t>, bfloat16_t, float16_t>;
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
  static_assert(sizeof(T) == (T::format().bits() <= 8 ? 1 : 2));
  static_assert(std::is_nothrow_default_constructible_v<T> && std::is_same_v<decltype(T() + T()), T>);
  static_assert(std::is_convertible_v<T, float> && std::is_convertible_v<T, double>);
  static_assert(!std::is_convertible_v<float, T> && !std::is_convertible_v<double, T>);
  static_assert(!std::is_convertible_v<int, T> && !std::is_convertible_v<Other, T>);
  static_assert(!std::is_assignable_v<T&, float> && !std::is_assignable_v<T&, int>);
  static_assert(!std::is_assignable_v<T&, Other> && !std::is_assignable_v<T&, decltype(T() + Other())>);
  static_assert(std::is_constructible_v<T, Other> && std::is_constructible_v<T, std::int64_t>);
  static_assert(!std::is_constructible_v<T, long double>);
  static_assert(
      !requires(T x, Other y) { x += 1.0f; } && !requires(T x, Other y) { x += 1; });
  static_assert(
      !requires(T x, Other y) { x += y; } && !requires(T x) { x += x + 1.0f; });
  static_assert(
      requires(T x) { x += x; } && !requires(T x) { ++x; });
  EXPECT_EQ(T().code(), 0);
}

TYPED_TEST(ScalarOf, WithAnythingElseGivesTheTypeThatFloatWouldGive) {
  using T = TypeParam;
  using Other = std::conditional_t<std::is_same_v<T, float16_t>, bfloat16_t, float16_t>;
  static_assert(std::is_same_v<decltype(T() + 1.0f), float> && std::is_same_v<decltype(1.0 / T()), double>);
  static_assert(std::is_same_v<decltype(T() * 2), float> && std::is_same_v<decltype(T() - 1LL), float>);
  static_assert(std::is_same_v<decltype(T() + Other()), float>);
  static_assert(std::is_same_v<decltype(true ? T() : Other()), float>);
  static_assert(std::is_same_v<decltype(-T()), std::conditional_t<T::format().is_signed, T, float>>);
  for (T x : every<T>()) {
    if (std::isnan(value_of(x))) continue;
    ASSERT_EQ(x + 1.0, value_of(x) + 1);
    ASSERT_EQ(3 * x, 3 * static_cast<float>(value_of(x)));
    ASSERT_TRUE(x == value_of(x) && x <= float{x} && !(value_of(x) > x));
  }
}

TYPED_TEST(ScalarOf, EveryCodeIsExactlyItsFloatWhateverTheStateOfTheProcessor) {
  const auto check = [] {
    for (TypeParam x : every<TypeParam>()) {
      const float value = x;
      const auto expected = static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(value));
      if (isnan(x)) {
        ASSERT_GT(expected & 0x7FFFFFFF, 0x7F800000u);
      } else {  // through integers: the processor may be flushing
        ASSERT_EQ(std::bit_cast<std::uint64_t>(decode(float32.format(), expected)),
                  std::bit_cast<std::uint64_t>(value_of(x)));
      }
    }
  };
  check();
#if defined(__SSE2__)
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  check();
  _mm_setcsr(before);
#endif
}

TYPED_TEST(ScalarOf, IsMadeFromEveryOtherFormatWithOneRounding) {
  using T = TypeParam;
  const oracle::Thresholds table(T::format());
  const auto check = [&]<class From>(From) {
    for (From x : every<From>())
      ASSERT_TRUE(table.accepts(value_of(x), T(x).code())) << From::format().name << ' ' << value_of(x);
  };
  check(float16_t()), check(bfloat16_t()), check(float8_e4m3fn_t()), check(float8_e5m2fnuz_t());
  check(float8_e8m0fnu_t()), check(fixed8m6_t()), check(float4_e2m1fn_t());
}

TYPED_TEST(ScalarOf, IsMadeFromDoubleWithOneRounding) {
  const oracle::Thresholds table(TypeParam::format());
  for (double middle : table.middles())
    for (double x :
         {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL), -middle, middle * 3}) {
      ASSERT_TRUE(table.accepts(x, TypeParam(x).code())) << x;
      const auto single = static_cast<float>(x);
      ASSERT_TRUE(table.accepts(static_cast<double>(single), TypeParam(single).code())) << x;
    }
}

// A long double holds every integer of 64 bits, which a double does not.
TYPED_TEST(ScalarOf, IsMadeFromIntegersWithOneRounding) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const oracle::Thresholds table(TypeParam::format());
  std::mt19937_64 random(5);
  const auto check = [&](std::uint64_t n) {
    ASSERT_EQ(TypeParam(n).code(), table.code_of(static_cast<long double>(n), false)) << n;
    const auto m = static_cast<std::int64_t>(n);
    ASSERT_EQ(TypeParam(m).code(), table.code_of(std::fabs(static_cast<long double>(m)), m < 0)) << m;
    const auto small = static_cast<std::int8_t>(n);
    ASSERT_EQ(TypeParam(small).code(), TypeParam(std::int64_t{small}).code());
  };
  for (int i = 0; i < 20000; ++i) ASSERT_NO_FATAL_FAILURE(check(random() >> (i % 64)));
  for (int top = 1; top < 64; ++top)
    for (int next = 0; next < top; ++next)
      for (std::uint64_t near : {-1, 0, 1})
        ASSERT_NO_FATAL_FAILURE(check((std::uint64_t{1} << top) + (std::uint64_t{1} << next) + near));
  EXPECT_EQ(TypeParam(true), TypeParam(1));
}

TYPED_TEST(ScalarOf, ComparesLikeItsValue) {
  using T = TypeParam;
  std::vector<T> some = every<T>();
  if (some.size() > 256) {
    std::mt19937 random(6);
    std::shuffle(some.begin(), some.end(), random);
    some.resize(250);
    for (std::uint64_t code : {0x0000, 0x8000, 0x0001, 0x7FFF, 0xFFFF, 0x7C00})
      some.push_back(T::from_code(code));
  }
  for (T a : some)
    for (T b : some) {
      const double x = value_of(a), y = value_of(b);
      ASSERT_EQ(a <=> b, x <=> y);
      ASSERT_TRUE((a == b) == (x == y) && (a != b) == (x != y) && (a < b) == (x < y) && (a >= b) == (x >= y));
      if (x == y) {
        ASSERT_EQ(std::hash<T>()(a), std::hash<T>()(b)) << x;
      }
      if (!std::isnan(x) && !std::isnan(y)) {
        ASSERT_EQ(value_of(std::max(a, b)), std::max(x, y));
      }
    }
}

TYPED_TEST(ScalarOf, NextafterVisitsEveryNumber) {
  using T = TypeParam;
  const std::vector<T> numbers = every_number_but_negative_zero<T>();
  const T first = numbers.front(), last = numbers.back();
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    ASSERT_EQ(nextafter(numbers[i], last), numbers[i + 1]) << value_of(numbers[i]);
    ASSERT_EQ(nextafter(numbers[i + 1], first), numbers[i]) << value_of(numbers[i + 1]);
    ASSERT_EQ(nextafter(numbers[i], numbers[i]).code(), numbers[i].code());
  }
  for (T x : every<T>()) {
    if (isnan(x)) {
      EXPECT_TRUE(isnan(nextafter(x, last)) && isnan(nextafter(last, x)));
    } else if (x == 0 && last > 0) {
      EXPECT_EQ(nextafter(x, last),
                numbers[static_cast<std::size_t>(std::lower_bound(numbers.begin(), numbers.end(), x) -
                                                 numbers.begin() + 1)]);
    }
  }
}

TYPED_TEST(ScalarOf, SignsAndKindsAreThoseOfTheValue) {
  using T = TypeParam;
  const oracle::Thresholds table(T::format());
  for (T x : every<T>()) {
    const double value = value_of(x);
    ASSERT_TRUE(isnan(x) == std::isnan(value) && isinf(x) == std::isinf(value)) << x;
    ASSERT_EQ(isfinite(x), std::isfinite(value));
    ASSERT_EQ((+x).code(), x.code());
    if (isnan(x)) {
      ASSERT_TRUE(isnan(abs(x)));
      continue;
    }
    ASSERT_EQ(signbit(x), std::signbit(value));
    ASSERT_TRUE(table.accepts(std::fabs(value), abs(x).code())) << value;
    if constexpr (T::format().is_signed) {
      ASSERT_TRUE(isnan(-x) == isnan(x) && table.accepts(-value, (-x).code())) << value;
      ASSERT_TRUE(table.accepts(-std::fabs(value), copysign(x, T(-1)).code())) << value;
      ASSERT_TRUE(table.accepts(std::fabs(value), copysign(x, T(1)).code())) << value;
    }
  }
}

TYPED_TEST(ScalarOf, PrintsAsItsFloat) {
  for (TypeParam x : every<TypeParam>()) {
    std::ostringstream out, expected;
    out.precision(9), expected.precision(9);
    out << x << std::showpos << x, expected << float{x} << std::showpos << float{x};
    ASSERT_EQ(out.str(), expected.str());
    ASSERT_EQ(fmt::format("{}|{:>+12.3e}|{:.{}f}", x, x, x, 4),
              fmt::format("{}|{:>+12.3e}|{:.{}f}", float{x}, float{x}, float{x}, 4));
#ifdef __cpp_lib_format
    ASSERT_EQ(std::format("{}|{:>+12.3e}", x, x), std::format("{}|{:>+12.3e}", float{x}, float{x}));
#endif
  }
}

TYPED_TEST(ScalarOf, LivesInContainers) {
  using T = TypeParam;
  const std::vector<T> numbers = every_number_but_negative_zero<T>();
  std::vector<T> shuffled = numbers;
  std::mt19937 random(7);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::unordered_map<T, double> map;
  for (T x : shuffled) map[x] = value_of(x);
  EXPECT_EQ(map.size(), numbers.size());
  for (T x : numbers) ASSERT_EQ(map.at(x), value_of(x));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, numbers);
  const std::unordered_set<T> zeros = {T(0.0), T(-0.0)};
  EXPECT_EQ(zeros.size(), T::format().has_zero ? 1u : 2u);  // two NaNs are not equal
}

TEST(Scalar, IsAConstantExpression) {
  static_assert(float16_t(1.5) + float16_t(2) == float16_t(3.5) && float16_t(0x7FFFFFFF) > 65504);
  static_assert(float8_e4m3fn_t(bfloat16_t(3.3)).code() == 0x45 && sqrt(bfloat16_t(9)) == 3);
  static_assert(float16_t(1) / float16_t(0) == std::numeric_limits<float16_t>::infinity());
  static_assert(isnan(float16_t(0) / float16_t(0)) && abs(float16_t(-2)) == 2 && -float16_t(1) < 0);
  static_assert(fma(bfloat16_t(3), bfloat16_t(4), bfloat16_t(5)) == 17 &&
                nextafter(float16_t(1), float16_t(2)) > 1);
  static_assert(float16_t(1 + 0x1p-11 + 0x1p-40).code() == 0x3C01);  // by way of float it would be 0x3C00
  static_assert(float4_e2m1fn_t(Exact{Exact::Kind::finite, true, 5, 0}) == -4);  // a tie, to even
}

TEST(Scalar, TakesAnyConversion) {
  EXPECT_EQ(float8_e4m3fn_t(1000.0, {.overflow = Overflow::saturate}), 448);
  EXPECT_EQ(float8_e4m3fn_t(1000, {.overflow = Overflow::saturate}), 448);
  EXPECT_EQ(float8_e4m3fn_t(bfloat16_t(1000), {.overflow = Overflow::saturate}), 448);
  EXPECT_EQ(bfloat16_t(1.001, {.rounding = Rounding::toward_positive}), 1.0078125);
  EXPECT_EQ(bfloat16_t(1.001, {.rounding = Rounding::stochastic}, 0xFFFFFFFF), 1.0078125);
  EXPECT_EQ(bfloat16_t(1.001, {.rounding = Rounding::stochastic}, 0), 1);
}

// 2^62 + 2^54 lies in the middle of two bfloat16; one more is beyond it, and a double does not see it.
TEST(Scalar, RoundsAnInteger64Once) {
  constexpr std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  EXPECT_EQ(bfloat16_t(tie), 0x1p62);
  EXPECT_EQ(bfloat16_t(tie + 1), 0x1.02p62);
  EXPECT_EQ(bfloat16_t(static_cast<double>(tie + 1)), 0x1p62);
  EXPECT_EQ(bfloat16_t(-(tie + 1)), -0x1.02p62);
}

}  // namespace
}  // namespace halftone
