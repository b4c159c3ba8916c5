// SPDX-License-Identifier: Apache-2.0
//
// Against the standard library in double: at a stride over all float32 numbers, and at every bfloat16 and
// float16 number.
#include "halftone/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace halftone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kLargest = std::numeric_limits<float>::max(), kOverflow = kLargest + 0x1p103;

// Distance from the exact value in units of its last place.
double distance(float value, double exact) {
  if (std::abs(exact) >= kOverflow) return std::isinf(value) && (value > 0) == (exact > 0) ? 0 : HUGE_VAL;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(double{value} - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

float half(std::uint32_t code) {
  const float magnitude = std::bit_cast<float>((code & 0x7FFF) << 13) * 0x1p112f;
  const bool special = (code & 0x7C00) == 0x7C00;
  const float value =
      special ? ((code & 0x3FF) ? std::numeric_limits<float>::quiet_NaN() : kInfinity) : magnitude;
  return code & 0x8000 ? -value : value;
}

// body(x) for all of the numbers that are finite.
template <class Body>
void each_number(const Body& body) {
  auto call = [&](float x) {
    if (std::isfinite(x)) body(x);
  };
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1999)
    call(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    call(std::bit_cast<float>(code << 16));
    call(half(code));
  }
}

template <class Function, class Exact>
void expect_within(double bound, const Function& function, const Exact& exact) {
  double worst = 0;
  float where = 0;
  each_number([&](float x) {
    const double d = distance(function(x), exact(double{x}));
    if (!(d <= worst)) worst = d, where = x;
  });
  EXPECT_LE(worst, bound) << "at " << where << ": " << function(where) << " for " << exact(double{where});
}

TEST(Elementary, ExpIsWithinOneUnit) {
  expect_within(
      1, [](float x) { return math::exp(x); }, [](double x) { return std::exp(x); });
}

TEST(Elementary, LogisticIsWithinTwoAndAHalfUnits) {
  // Where e^-x overflows, the result is 0 instead of a subnormal number.
  expect_within(
      2.5, [](float x) { return x < -88 ? 0.0f : math::logistic(x); },
      [](double x) { return x < -88 ? 0 : 1 / (1 + std::exp(-x)); });
  EXPECT_EQ(math::logistic(-200.0f), 0);
  EXPECT_EQ(math::logistic(200.0f), 1);
}

TEST(Elementary, TanhIsWithinTwoAndThreeQuarterUnits) {
  expect_within(
      2.75, [](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); });
}

TEST(Elementary, ShortExp2IsWithinThreeUnits) {
  expect_within(
      3, [](float x) { return std::abs(x) < 126.5f ? math::short_exp2(x) : 1.0f; },
      [](double x) { return std::abs(x) < 126.5 ? std::exp2(x) : 1; });
  EXPECT_EQ(math::short_exp2(0.0f), 1);
  EXPECT_EQ(math::short_exp2(126.75f), kInfinity);
  EXPECT_EQ(math::short_exp2(127.25f), kInfinity);
  EXPECT_LT(math::short_exp2(-127.25f), 0x1p-126f);
}

TEST(Elementary, TheNormalDistributionIsWithinSixUnits) {
  expect_within(
      6, [](float x) { return math::normal(x).distribution; },
      [](double x) { return math::normal(x).distribution; });
  expect_within(
      6, [](float x) { return math::normal(x).density; }, [](double x) { return math::normal(x).density; });
}

TEST(Elementary, SpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0);
  EXPECT_EQ(math::exp(0.0f), 1);
  EXPECT_EQ(math::exp(-0.0f), 1);
  EXPECT_EQ(math::tanh(kInfinity), 1);
  EXPECT_EQ(math::tanh(-kInfinity), -1);
  EXPECT_TRUE(std::signbit(math::tanh(-0.0f)));
  EXPECT_EQ(math::normal(0.0f).distribution, 0.5f);
  EXPECT_EQ(math::normal(kInfinity).distribution, 1);
  EXPECT_EQ(math::normal(-kInfinity).distribution, 0);
  EXPECT_EQ(math::normal(kInfinity).density, 0);
  for (const float x : {nan, -nan, std::bit_cast<float>(0x7FFFFFFF), std::bit_cast<float>(0xFF800001)}) {
    EXPECT_TRUE(std::isnan(math::exp(x)));
    EXPECT_TRUE(std::isnan(math::short_exp2(x)));
    EXPECT_TRUE(std::isnan(math::logistic(x)));
    EXPECT_TRUE(std::isnan(math::tanh(x)));
    EXPECT_TRUE(std::isnan(math::normal(x).distribution));
    EXPECT_TRUE(std::isnan(math::normal(x).density));
  }
}

TEST(Elementary, DoublesAreTheStandardLibrarys) {
  EXPECT_EQ(math::exp(1.0), std::exp(1.0));
  EXPECT_EQ(math::tanh(0.3), std::tanh(0.3));
  EXPECT_NEAR(math::normal(1.0).distribution, 0.84134474606854293, 1e-16);
  EXPECT_NEAR(math::normal(1.0).density, 0.24197072451914337, 1e-16);
}

}  // namespace
}  // namespace halftone
