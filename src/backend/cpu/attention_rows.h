// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of attention between its matrix products, a tile of scores at a time: a row is a query, a
// column a key. State is float32; sums are taken in kLanes lanes, in an order fixed by the sizes, so that
// every SIMD level gives the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace halftone::cpu {

inline constexpr std::int64_t kLanes = 32;

// e^x for x <= 0: within 2 units in the last place down to 2^-126, 0 from e^-88 on (Cody and Waite 1980: 2^n
// p(r), r within ln 2 / 2, p of degree 7 as in Moshier's Cephes). NaN stays.
[[gnu::always_inline]] inline float exp_nonpositive(float x) {
  constexpr float kMagic = 0x1.8p23f;  // adding it rounds to a whole number, in the low bits of the sum
  x = x < -88 ? -88.0f : x;
  const float shifted = x * 0x1.715476p0f + kMagic, n = shifted - kMagic;
  // The first constant is short: n times it is exact.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1;
  // n = -127 makes a scale of 0.
  return p * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000);
}

// The lanes by halves.
template <std::int64_t kHalf = kLanes / 2, class Combine>
[[gnu::always_inline]] inline float fold(float* lanes, const Combine& combine) {
  for (std::int64_t i = 0; i < kHalf; ++i) lanes[i] = combine(lanes[i], lanes[i + kHalf]);
  if constexpr (kHalf > 1) return fold<kHalf / 2>(lanes, combine);
  return lanes[0];
}

// The larger, or b if a is NaN: NaNs are found by their exponentials.
[[gnu::always_inline]] inline float larger(float a, float b) { return a > b ? a : b; }

// A tile of scores, before the factor, and how many of its columns each row sees. Memory beyond the columns
// of the tile, up to the stride (a multiple of kLanes), may be written.
struct ScoreTile {
  std::int64_t rows, columns, stride;
  float* scores;
  const std::int32_t* visible;
  float factor;
  const std::uint8_t* kept = nullptr;  // with dropout: 0 where an element is dropped; lies as the scores do
  float scale = 1;                     // of the others

  static constexpr float kNothing = -std::numeric_limits<float>::infinity();

  // Fills the last lanes of a row so that they count for nothing; returns the columns to go through.
  [[gnu::always_inline]] std::int64_t mask(std::int64_t row) const {
    const std::int64_t end = visible[row], padded = (end + kLanes - 1) / kLanes * kLanes;
    float* s = scores + row * stride;
    // -infinity, times the factor
    for (std::int64_t j = end; j < padded; ++j) s[j] = factor < 0 ? -kNothing : kNothing;
    return padded;
  }
};

// What to subtract from the scores of a row whose largest is `peak`: anything finite if that is -infinity.
inline float base(float peak) { return peak == ScoreTile::kNothing ? 0.0f : peak; }

// e = exp(factor s - peak), 0 where a row does not see the key, with the largest score so far as `peak`;
// total = decay total + sum of e, decay = exp(old peak - peak). With dropout the sum is of all e.
template <class Lane, bool kDropout>
struct Exponentials {
  static void run(const ScoreTile& tile, typename Lane::Code* __restrict codes, float* __restrict peaks,
                  float* __restrict totals, float* __restrict decays) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::int64_t padded = tile.mask(row);
      const float* __restrict s = tile.scores + row * tile.stride;
      typename Lane::Code* __restrict e = codes + row * tile.stride;
      const std::uint8_t* __restrict kept = kDropout ? tile.kept + row * tile.stride : nullptr;
      const float factor = tile.factor;
      float top[kLanes], sum[kLanes] = {};
      for (float& lane : top) lane = ScoreTile::kNothing;
      for (std::int64_t j = 0; j < padded; j += kLanes)
        for (std::int64_t i = 0; i < kLanes; ++i) top[i] = larger(s[j + i] * factor, top[i]);
      const float peak = larger(fold(top, [](float a, float b) { return larger(a, b); }), peaks[row]);
      const float subtract = base(peak);
      for (std::int64_t j = 0; j < padded; j += kLanes)
        for (std::int64_t i = 0; i < kLanes; ++i) {
          float value = exp_nonpositive(s[j + i] * factor - subtract);
          sum[i] += value;
          if constexpr (kDropout) value = kept[j + i] != 0 ? value : 0.0f;
          e[j + i] = Lane::store_product(value);
        }
      for (std::int64_t j = padded; j < tile.columns; ++j) e[j] = Lane::store(0);
      decays[row] = exp_nonpositive(peaks[row] - subtract);
      totals[row] = totals[row] * decays[row] + fold(sum, [](float a, float b) { return a + b; });
      peaks[row] = peak;
    }
  }
};

// Every row of y times its own factor.
struct Decay {
  static void run(std::int64_t rows, std::int64_t width, float* __restrict y,
                  const float* __restrict decays) {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < width; ++i) y[row * width + i] *= decays[row];
  }
};

// to = from, or from / divisor row by row; zeros where that is 0 (a query that saw no key).
template <class Lane>
struct Rounded {
  static void run(std::int64_t rows, std::int64_t width, const float* __restrict from,
                  const float* __restrict divisors, typename Lane::Code* __restrict to, std::int64_t stride) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* __restrict x = from + row * width;
      typename Lane::Code* __restrict y = to + row * stride;
      if (divisors == nullptr) {
        for (std::int64_t i = 0; i < width; ++i) y[i] = Lane::store(x[i]);
      } else {
        const float divisor = divisors[row] == 0 ? std::numeric_limits<float>::infinity() : divisors[row];
        for (std::int64_t i = 0; i < width; ++i) y[i] = Lane::store(x[i] / divisor);
      }
    }
  }
};

// dots = <a, b>, row by row.
template <class Lane>
struct Dots {
  static void run(std::int64_t rows, std::int64_t width, const typename Lane::Code* __restrict a,
                  std::int64_t a_stride, const typename Lane::Code* __restrict b, std::int64_t b_stride,
                  float* __restrict dots) {
    for (std::int64_t row = 0; row < rows; ++row) {
      float sum[kLanes] = {};
      const typename Lane::Code *x = a + row * a_stride, *y = b + row * b_stride;
      // Rows are short and far apart: the processor does not see the next one coming.
      for (std::int64_t j = 0; j < width; j += 64 / static_cast<std::int64_t>(sizeof(*x))) {
        __builtin_prefetch(x + 8 * a_stride + j);
        __builtin_prefetch(y + 8 * b_stride + j);
      }
      std::int64_t j = 0;
      for (; j + kLanes <= width; j += kLanes)
        for (std::int64_t i = 0; i < kLanes; ++i) sum[i] += Lane::load(x[j + i]) * Lane::load(y[j + i]);
      for (std::int64_t i = 0; i < width - j; ++i) sum[i] += Lane::load(x[j + i]) * Lane::load(y[j + i]);
      dots[row] = fold(sum, [](float p, float q) { return p + q; });
    }
  }
};

// p = exp(factor s - peak) / total and ds = p (dp - dot) factor; the tile's scores are s, `dp` lies as they
// do. With dropout dp counts by the mask, and what is stored of p is p by the mask.
template <class Lane, bool kDropout>
struct ScoreGradients {
  static void run(const ScoreTile& tile, const float* __restrict gradients, const float* __restrict peaks,
                  const float* __restrict totals, const float* __restrict dots,
                  typename Lane::Code* __restrict p_codes, typename Lane::Code* __restrict ds_codes) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::int64_t padded = tile.mask(row);
      const float* __restrict s = tile.scores + row * tile.stride;
      const float* __restrict dp = gradients + row * tile.stride;
      typename Lane::Code* __restrict p = p_codes + row * tile.stride;
      typename Lane::Code* __restrict ds = ds_codes + row * tile.stride;
      const std::uint8_t* __restrict kept = kDropout ? tile.kept + row * tile.stride : nullptr;
      const float factor = tile.factor, scale = tile.scale, subtract = base(peaks[row]), dot = dots[row],
                  share = totals[row] == 0 ? 0.0f : 1 / totals[row];
      for (std::int64_t j = 0; j < padded; ++j) {
        const float value = exp_nonpositive(s[j] * factor - subtract) * share;
        const float mask = !kDropout ? 1.0f : kept[j] != 0 ? scale : 0.0f;
        p[j] = Lane::store_product(value * mask);
        ds[j] = Lane::store_product(value * (dp[j] * mask - dot) * factor);
      }
      for (std::int64_t j = padded; j < tile.columns; ++j) p[j] = ds[j] = Lane::store(0);
    }
  }
};

}  // namespace halftone::cpu
