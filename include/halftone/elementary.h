// SPDX-License-Identifier: Apache-2.0
//
// exp, tanh, the logistic function and the normal distribution for formulas (formula.h): for float from plain
// arithmetic that a compiler turns into vectors, with the same bits at every SIMD level; for double from the
// standard library. Finite float results are at most so many units in the last place from the exact value:
// exp 1, logistic 2.5, tanh 2.75, short_exp2 3, the normal distribution 6. exp of -infinity is 0, of more
// than the largest logarithm infinity; a NaN stays one; results of exp and the normal distribution below
// 2^-126 are subnormal numbers, not zeros. No operation is fused: not every level has the instruction.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace halftone::math {
namespace detail {

// round(x) + bias for |x| < 2^22, as a float and, in the low bits of its code, as an integer. For biases
// around 127 the code moved up by 23 bits is the float 2^(round(x) + bias - 127).
struct Rounded {
  float sum, value;  // round(x) + bias + 1.5 2^23; round(x)
};
[[gnu::always_inline]] inline Rounded rounded(float x, int bias) {
  const float shift = 12582912.0f + float(bias), sum = x + shift;
  return {sum, sum - shift};
}
[[gnu::always_inline]] inline float power(std::int32_t code) { return std::bit_cast<float>(code << 23); }
[[gnu::always_inline]] inline float power(Rounded n) { return power(std::bit_cast<std::int32_t>(n.sum)); }

constexpr float kLog2E = 1.44269502f;

// x - n ln 2
[[gnu::always_inline]] inline float remainder(float x, Rounded n) {
  return (x - n.value * 0.693145752f) - n.value * 1.42860677e-6f;
}

// e^r - 1 for |r| <= ln 2 / 2
[[gnu::always_inline]] inline float exp_less_one(float r) {
  const float square = r * r;
  const float p = (0.49999994f + r * 0.166665211f) +
                  square * ((0.0416682921f + r * 0.00836872123f) + square * 0.0013818742f);
  return r + square * p;
}

}  // namespace detail

// The power is applied in two halves, so that results beyond the normal range round once.
inline double exp(double x) { return std::exp(x); }
[[gnu::always_inline]] inline float exp(float x) {
  x = x > 89 ? 89.0f : x < -104 ? -104.0f : x;
  const detail::Rounded n = detail::rounded(x * detail::kLog2E, 254);
  const std::int32_t code = std::bit_cast<std::int32_t>(n.sum), half = code >> 1;
  return (1 + detail::exp_less_one(detail::remainder(x, n))) * detail::power(half) *
         detail::power(code - half);
}

// 2^x with less care than exp, for |x| < 127.5: infinity from 126.5 on.
inline double short_exp2(double x) { return std::exp2(x); }
[[gnu::always_inline]] inline float short_exp2(float x) {
  const detail::Rounded n = detail::rounded(x, 128);
  const float r = x - n.value, square = r * r;
  const float p = (0.120111227f + r * 0.0277535543f) + square * (0.00483569596f + r * 0.000663485203f);
  return ((0.5f + r * 0.346573502f) + square * p) * detail::power(n);  // half, times 2^(n + 1)
}

// 1 / (1 + e^-x)
inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
[[gnu::always_inline]] inline float logistic(float x) {
  x = x > 87.5f ? 87.5f : x < -88.9f ? -88.9f : x;  // 1, and 0: e^-x is infinite
  const detail::Rounded n = detail::rounded(x * -detail::kLog2E, 127);
  const float power = detail::power(n);
  return 1 / (1 + (1 + detail::exp_less_one(detail::remainder(-x, n))) * power);
}

// E / (E + 2), E = e^2|x| - 1
inline double tanh(double x) { return std::tanh(x); }
[[gnu::always_inline]] inline float tanh(float x) {
  const float magnitude = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF);
  const float a = magnitude > 10 ? 20.0f : 2 * magnitude;  // tanh is 1 there
  const detail::Rounded n = detail::rounded(a * detail::kLog2E, 127);
  const float power = detail::power(n);
  const float e = detail::exp_less_one(detail::remainder(a, n)) * power + (power - 1);
  const float y = e / (e + 2);
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
  const float major = -0.5f * leading * leading, minor = -0.5f * ((a - leading) * (a + leading));
  const detail::Rounded n = detail::rounded((major + minor) * detail::kLog2E, 127 + 64);
  const float r = detail::remainder(major, n) + minor;
  const float e = (1 + detail::exp_less_one(r)) * detail::power(n) * 0x1p-64f;  // rounds once if subnormal
  const float inverse = 1 / (a + 3), t = (a - 3) * inverse, square = t * t;
  float even = -0.000267580821f, odd = -0.000902715197f;
  even = even * square + 0.00107884896f;
  odd = odd * square + 0.00692458637f;
  even = even * square + -0.0104814973f;
  odd = odd * square + -0.0472565703f;
  even = even * square + 0.230019644f;
  odd = odd * square + -0.50933224f;
  const float p = (even * square + odd * t) + 0.729083657f;
  const float tail = e * (p * inverse);
  return {x > 0 ? 1 - tail : tail, e * float(std::numbers::inv_sqrtpi / std::numbers::sqrt2)};
}

}  // namespace halftone::math
