// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of attention between its matrix products, a tile of scores at a time: a row is a key, a
// column a query, so that maxima and sums over keys are those of whole vectors of queries. State is float32
// and sums go through the keys in order, so every SIMD level gives the same bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace halftone::cpu {

// Columns are worked on in groups of this many, which the compiler keeps in registers.
inline constexpr std::int64_t kLanes = 32;

// 2^x for x <= 0: within a unit in the last place down to 2^-126, 0 from 2^-127 on. n = round(x), r = x - n,
// 2^n 2^r, the second by interpolation at the Chebyshev points of [-1/2, 1/2], exact at 0. NaN stays.
[[gnu::always_inline]] inline float exp2_nonpositive(float x) {
  constexpr float kMagic = 0x1.8p23f;  // adding it rounds to a whole number, in the low bits of the sum
  x = x < -127 ? -127.0f : x;
  const float shifted = x + kMagic, r = x - (shifted - kMagic);
  float p = 0.000154531634f;
  p = std::fma(p, r, 0.00133908633f);
  p = std::fma(p, r, 0.00961808302f);
  p = std::fma(p, r, 0.0555035695f);
  p = std::fma(p, r, 0.240226507f);
  p = std::fma(p, r, 0.693147182f);
  p = std::fma(p, r, 1.0f);
  // n = -127 makes a scale of 0.
  return p * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000);
}

// The larger, or b if a is NaN: NaNs are found by their exponentials.
[[gnu::always_inline]] inline float larger(float a, float b) { return a > b ? a : b; }

// A tile of scores, before the factor, and how many of the first queries do not see each of its keys. The
// stride is a multiple of kLanes; memory beyond the queries, up to it, may be read and written.
struct ScoreTile {
  std::int64_t keys, queries, stride;
  const float* scores;
  const std::int32_t* hidden;
  float factor;                        // times log2 e: scores are exponents of 2 from there on
  const std::uint8_t* kept = nullptr;  // with dropout: 0 where an element is dropped; lies as the scores do
  float scale = 1;                     // of the others

  static constexpr float kNothing = -std::numeric_limits<float>::infinity();
};

// What to subtract from the scores of a query whose largest is `peak`: anything finite if that is -infinity.
[[gnu::always_inline]] inline float base(float peak) { return peak == ScoreTile::kNothing ? 0.0f : peak; }

// e = 2^(factor s - peak), 0 where a query does not see the key, with the largest score so far as `peak`;
// total = decay total + sum of e, decay = 2^(old peak - peak). With dropout the sum is of all e.
template <class Lane, bool kDropout>
struct Exponentials {
  static void run(const ScoreTile& tile, typename Lane::Code* __restrict codes, float* __restrict peaks,
                  float* __restrict totals, float* __restrict decays) {
    const float factor = tile.factor;
    const std::int64_t stride = tile.stride;
    for (std::int64_t first = 0; first < tile.queries; first += kLanes) {
      const float* __restrict scores = tile.scores + first;
      float top[kLanes], subtract[kLanes], sum[kLanes] = {};
      for (std::int64_t i = 0; i < kLanes; ++i) top[i] = peaks[first + i];
      for (std::int64_t key = 0; key < tile.keys; ++key) {
        const float* __restrict s = scores + key * stride;
        const auto hidden = static_cast<std::int32_t>(tile.hidden[key] - first);
        for (std::int32_t i = 0; i < kLanes; ++i)
          top[i] = i < hidden ? top[i] : larger(s[i] * factor, top[i]);
      }
      for (std::int64_t i = 0; i < kLanes; ++i) {
        subtract[i] = base(top[i]);
        decays[first + i] = exp2_nonpositive(peaks[first + i] - subtract[i]);
        peaks[first + i] = top[i];
      }
      for (std::int64_t key = 0; key < tile.keys; ++key) {
        const float* __restrict s = scores + key * stride;
        typename Lane::Code* __restrict e = codes + key * stride + first;
        const std::uint8_t* __restrict kept = kDropout ? tile.kept + key * stride + first : nullptr;
        const auto hidden = static_cast<std::int32_t>(tile.hidden[key] - first);
        for (std::int32_t i = 0; i < kLanes; ++i) {
          float value = exp2_nonpositive(s[i] * factor - subtract[i]);
          value = i < hidden ? 0.0f : value;
          sum[i] += value;
          if constexpr (kDropout) value = kept[i] != 0 ? value : 0.0f;
          e[i] = Lane::store_product(value);
        }
      }
      for (std::int64_t i = 0; i < kLanes; ++i)
        totals[first + i] = totals[first + i] * decays[first + i] + sum[i];
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
      for (std::int64_t i = 0; i < width; i += 64 / static_cast<std::int64_t>(sizeof(*y)))
        __builtin_prefetch(y + 8 * stride + i, 1);
      if (divisors == nullptr) {
        for (std::int64_t i = 0; i < width; ++i) y[i] = Lane::store(x[i]);
      } else {
        const float divisor = divisors[row] == 0 ? std::numeric_limits<float>::infinity() : divisors[row];
        for (std::int64_t i = 0; i < width; ++i) y[i] = Lane::store(x[i] / divisor);
      }
    }
  }
};

// The sum of the lanes, by halves.
template <std::int64_t kHalf = kLanes / 2>
[[gnu::always_inline]] inline float fold(float* lanes) {
  for (std::int64_t i = 0; i < kHalf; ++i) lanes[i] += lanes[i + kHalf];
  if constexpr (kHalf > 1) return fold<kHalf / 2>(lanes);
  return lanes[0];
}

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
      dots[row] = fold(sum);
    }
  }
};

// p = 2^(factor s - peak) / total and ds = p (dp - dot) slope, 0 where a query does not see the key; the
// tile's scores are s, `gradients`, of dp, lies as they do. With dropout dp counts by the mask, and what is
// stored of p is p by the mask.
template <class Lane, bool kDropout>
struct ScoreGradients {
  static void run(const ScoreTile& tile, float slope, const float* __restrict gradients,
                  const float* __restrict peaks, const float* __restrict totals, const float* __restrict dots,
                  typename Lane::Code* __restrict p_codes, typename Lane::Code* __restrict ds_codes) {
    const float factor = tile.factor, scale = tile.scale;
    const std::int64_t stride = tile.stride;
    for (std::int64_t first = 0; first < tile.queries; first += kLanes) {
      float subtract[kLanes], share[kLanes], dot[kLanes];
      for (std::int64_t i = 0; i < kLanes; ++i) {
        subtract[i] = base(peaks[first + i]);
        share[i] = totals[first + i] == 0 ? 0.0f : 1 / totals[first + i];
        dot[i] = dots[first + i];
      }
      for (std::int64_t key = 0; key < tile.keys; ++key) {
        const std::int64_t row = key * stride + first;
        const float* __restrict s = tile.scores + row;
        const float* __restrict dp = gradients + row;
        typename Lane::Code* __restrict p = p_codes + row;
        typename Lane::Code* __restrict ds = ds_codes + row;
        const std::uint8_t* __restrict kept = kDropout ? tile.kept + row : nullptr;
        const auto hidden = static_cast<std::int32_t>(tile.hidden[key] - first);
        for (std::int32_t i = 0; i < kLanes; ++i) {
          const float value = exp2_nonpositive(s[i] * factor - subtract[i]) * share[i];
          const float mask = !kDropout ? 1.0f : kept[i] != 0 ? scale : 0.0f;
          const float change = value * (dp[i] * mask - dot[i]) * slope;
          p[i] = Lane::store_product(i < hidden ? 0.0f : value * mask);
          ds[i] = Lane::store_product(i < hidden ? 0.0f : change);
        }
      }
    }
  }
};

}  // namespace halftone::cpu
