// SPDX-License-Identifier: Apache-2.0
//
// exp, tanh, the logistic function and the normal distribution for formulas (formula.h): for float from plain
// arithmetic that a compiler turns into vectors, with the same bits at every SIMD level; for double from the
// standard library. Finite float results are at most so many units in the last place from the exact value:
// exp 1, logistic 2.5, tanh 1.5, the normal distribution 5.5. exp of -infinity is 0, of more than the largest
// logarithm infinity; a NaN stays one; results below 2^-126 are subnormal numbers, not zeros.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace halftone::math {
namespace detail {

// e^(x + rest) for -104 <= x <= 89 and |rest| much below 1: n = round(x / ln 2), r = x - n ln 2 + rest,
// 2^n e^r. The power is applied in two halves, so that results beyond the normal range round once.
[[gnu::always_inline]] inline float limited_exp(float x, float rest) {
  const float shifted = (x + rest) * 1.44269502f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = ((x - n * 0.693145752f) - n * 1.42860677e-6f) + rest;
  float p = 0.000198995083f;
  p = p * r + 0.00139338232f;
  p = p * r + 0.00833329838f;
  p = p * r + 0.041666463f;
  p = p * r + 0.166666672f;
  p = p * r + 0.5f;
  p = 1 + (r + r * r * p);
  const std::int32_t power = std::bit_cast<std::int32_t>(shifted) - 0x4B400000, half = power >> 1;
  return p * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((power - half + 127) << 23);
}

}  // namespace detail

inline double exp(double x) { return std::exp(x); }
[[gnu::always_inline]] inline float exp(float x) {
  return detail::limited_exp(x > 89 ? 89.0f : x < -104 ? -104.0f : x, 0);
}

// 1 / (1 + e^-x)
template <class Real>
[[gnu::always_inline]] inline Real logistic(Real x) {
  return 1 / (1 + exp(-x));
}

inline double tanh(double x) { return std::tanh(x); }
[[gnu::always_inline]] inline float tanh(float x) {
  const float a = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF);
  const float square = a * a;
  float p = -0.00608697999f;  // (tanh a - a) / a^3 below 0.625
  p = p * square + 0.0209913068f;
  p = p * square + -0.0538499057f;
  p = p * square + 0.133327648f;
  p = p * square + -0.333333284f;
  const float large = 1 - 2 / (exp(2 * a) + 1);
  const float y = a < 0.625f ? a + a * square * p : large;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) |
                              (std::bit_cast<std::uint32_t>(x) & 0x80000000));
}

// The normal distribution function and its density.
template <class Real>
struct Normal {
  Real distribution, density;
};

inline Normal<double> normal(double x) {
  return {0.5 * std::erfc(-x / std::numbers::sqrt2),
          std::exp(-x * x / 2) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2)};
}

// The lower tail at -a is e^(-a^2 / 2) P(t) / (a + 3), t = (a - 3) / (a + 3). a^2 is taken in two parts, of
// which the first is exact: what a rounded square loses, the exponential would magnify.
[[gnu::always_inline]] inline Normal<float> normal(float x) {
  const float magnitude = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF);
  const float a = magnitude > 14.5f ? 14.5f : magnitude;  // the tail is 0 there
  const float leading = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0xFFFFF000);
  const float e = detail::limited_exp(-0.5f * leading * leading, -0.5f * ((a - leading) * (a + leading)));
  const float inverse = 1 / (a + 3), t = (a - 3) * inverse;
  float p = 5.39603294e-05f;
  p = p * t + 0.00013062407f;
  p = p * t + -0.000244199801f;
  p = p * t + -0.00103172423f;
  p = p * t + 0.00102457106f;
  p = p * t + 0.0069689597f;
  p = p * t + -0.0104624853f;
  p = p * t + -0.0472626328f;
  p = p * t + 0.230017697f;
  p = p * t + -0.509331994f;
  p = p * t + 0.72908369f;
  const float tail = e * (p * inverse);
  return {x > 0 ? 1 - tail : tail, e * float(std::numbers::inv_sqrtpi / std::numbers::sqrt2)};
}

}  // namespace halftone::math
