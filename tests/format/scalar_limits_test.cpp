// SPDX-License-Identifier: Apache-2.0
//
// std::numeric_limits of the narrow numbers: every member, by table and by definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "format/scalars.h"

namespace halftone {
namespace {

template <class T>
class ScalarLimits : public testing::Test {};
TYPED_TEST_SUITE(ScalarLimits, Scalars, ScalarNames);

// The published limits of the formats, by the definitions of the C++ standard.
struct Limits {
  std::string_view name;
  int digits, digits10, max_digits10, min_exponent, max_exponent, min_exponent10, max_exponent10;
  double max, min, denorm_min, epsilon;
  bool infinity, nan, subnormals, iec559;
};
constexpr Limits kLimits[] = {
    {"float16", 11, 3, 5, -13, 16, -4, 4, 65504, 0x1p-14, 0x1p-24, 0x1p-10, true, true, true, true},
    {"bfloat16", 8, 2, 4, -125, 128, -37, 38, 0x1.FEp127, 0x1p-126, 0x1p-133, 0x1p-7, true, true, true, true},
    {"float8_e4m3fn", 4, 0, 3, -5, 9, -1, 2, 448, 0x1p-6, 0x1p-9, 0x1p-3, false, true, true, false},
    {"float8_e5m2", 3, 0, 2, -13, 16, -4, 4, 57344, 0x1p-14, 0x1p-16, 0x1p-2, true, true, true, true},
    {"float8_e4m3", 4, 0, 3, -5, 8, -1, 2, 240, 0x1p-6, 0x1p-9, 0x1p-3, true, true, true, true},
    {"float8_e3m4", 5, 1, 3, -1, 4, 0, 1, 15.5, 0x1p-2, 0x1p-6, 0x1p-4, true, true, true, true},
    {"float8_e4m3fnuz", 4, 0, 3, -6, 8, -2, 2, 240, 0x1p-7, 0x1p-10, 0x1p-3, false, true, true, false},
    {"float8_e5m2fnuz", 3, 0, 2, -14, 16, -4, 4, 57344, 0x1p-15, 0x1p-17, 0x1p-2, false, true, true, false},
    {"float8_e4m3b11fnuz", 4, 0, 3, -9, 5, -3, 1, 30, 0x1p-10, 0x1p-13, 0x1p-3, false, true, true, false},
    {"float6_e3m2fn", 3, 0, 2, -1, 5, 0, 1, 28, 0x1p-2, 0x1p-4, 0x1p-2, false, false, true, false},
    {"float6_e2m3fn", 4, 0, 3, 1, 3, 0, 0, 7.5, 1, 0x1p-3, 0x1p-3, false, false, true, false},
    {"float4_e2m1fn", 2, 0, 2, 1, 3, 0, 0, 6, 1, 0.5, 0.5, false, false, true, false},
    {"float8_e8m0fnu", 1, 0, 2, -126, 128, -38, 38, 0x1p127, 0x1p-127, 0x1p-127, 1, false, true, false,
     false},
    {"fixed8m6", 7, 1, 4, -5, 1, -1, 0, 127.0 / 64, 1.0 / 64, 1.0 / 64, 1.0 / 64, false, false, false,
     false}};

TYPED_TEST(ScalarLimits, AreThoseOfTheTable) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const auto row = std::find_if(std::begin(kLimits), std::end(kLimits),
                                [](const Limits& x) { return x.name == T::format().name; });
  ASSERT_NE(row, std::end(kLimits));
  EXPECT_EQ(L::digits, row->digits);
  EXPECT_EQ(L::digits10, row->digits10);
  EXPECT_EQ(L::max_digits10, row->max_digits10);
  EXPECT_EQ(L::min_exponent, row->min_exponent);
  EXPECT_EQ(L::max_exponent, row->max_exponent);
  EXPECT_EQ(L::min_exponent10, row->min_exponent10);
  EXPECT_EQ(L::max_exponent10, row->max_exponent10);
  EXPECT_EQ(L::max(), row->max);
  EXPECT_EQ(L::min(), row->min);
  EXPECT_EQ(L::denorm_min(), row->denorm_min);
  EXPECT_EQ(L::epsilon(), row->epsilon);
  const bool fixed = T::format().specials == Specials::integer, is_signed = T::format().is_signed;
  EXPECT_EQ(L::lowest(), fixed ? -2 : is_signed ? -row->max : row->min);
  EXPECT_EQ(L::has_infinity, row->infinity);
  EXPECT_EQ(isinf(L::infinity()), row->infinity);
  EXPECT_EQ(isnan(L::quiet_NaN()), row->nan);
  EXPECT_EQ(L::has_quiet_NaN, row->nan);
  EXPECT_EQ(L::has_denorm, row->subnormals ? std::denorm_present : std::denorm_absent);
  EXPECT_EQ(L::is_iec559, row->iec559);
  EXPECT_EQ(L::is_signed, is_signed);
  EXPECT_EQ(L::is_exact, fixed);  // "fixed-exponent representations are exact but not integer"
  EXPECT_EQ(L::round_error(), 0.5);
  static_assert(L::is_specialized && !L::is_integer && L::is_bounded && !L::is_modulo && L::radix == 2);
  static_assert(!L::has_signaling_NaN && !L::has_denorm_loss && !L::traps && !L::tinyness_before);
  static_assert(L::round_style == std::round_to_nearest && std::numeric_limits<const T>::digits == L::digits);
}

TYPED_TEST(ScalarLimits, MeanWhatTheStandardSays) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const double max = L::max(), min = L::min();
  EXPECT_TRUE(std::ldexp(1, L::max_exponent - 1) <= max && max < std::ldexp(1, L::max_exponent));
  EXPECT_EQ(std::ldexp(1, L::min_exponent - 1), min);
  EXPECT_TRUE(std::pow(10, L::max_exponent10) <= max && max < std::pow(10, L::max_exponent10 + 1));
  EXPECT_TRUE(std::pow(10, L::min_exponent10) >= min && min > std::pow(10, L::min_exponent10 - 1));
  EXPECT_EQ(nextafter(T(1), L::max()) - T(1), L::epsilon());
  for (T x : every_number_but_negative_zero<T>()) {
    if (isfinite(x)) {
      ASSERT_TRUE(L::lowest() <= x && x <= L::max() && (x <= 0 || x >= L::denorm_min()));
    }
    char text[40];
    std::snprintf(text, sizeof(text), "%.*e", L::max_digits10 - 1, value_of(x));
    ASSERT_EQ(T(parse_exact(text)), x) << text;
  }
}

}  // namespace
}  // namespace halftone
