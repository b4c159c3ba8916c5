// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/lanes.h"
#include "backend/cpu/tile.h"

namespace halftone::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Sums and maxima are kept in so many lanes, combined in a fixed order: the same bits at every SIMD level.
constexpr int kLanes = 16;

[[gnu::always_inline]] inline float exponential(float x) {
  // n = round(x / ln 2), r = x - n ln 2, e^r by its series; results below 2^-126 become 0.
  const float limited = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float shifted = limited * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (limited - n * 0.693145752f) - n * 1.42860677e-6f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127U) << 23);
  return x < -87.0f ? 0.0f : p * power;
}

std::int32_t seen(const ScoreTile& t, std::int64_t row) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(t.visible[row] - t.first_key, 0, t.columns));
}

float combined_sum(const float* lanes) {
  float sum[kLanes];
  std::copy_n(lanes, kLanes, sum);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
  return sum[0];
}

template <class Lane>
struct Softmax {
  static void run(const ScoreTile* tile, const RunningSoftmax* running, typename Lane::Code* p) {
    const ScoreTile& t = *tile;
    for (std::int64_t row = 0; row < t.rows; ++row) {
      float* __restrict s = t.scores + row * t.stride;
      typename Lane::Code* __restrict out = p + row * t.stride;
      const std::int32_t keys = seen(t, row);
      float peaks[kLanes], sums[kLanes];
      std::fill_n(peaks, kLanes, -kInfinity);
      std::fill_n(sums, kLanes, 0.0f);
      const auto stride = static_cast<std::int32_t>(t.stride);
      for (std::int32_t j = 0; j < stride; ++j) {
        const float scaled = s[j] * t.factor;
        s[j] = j < keys ? scaled : -kInfinity;
      }
      for (std::int32_t j = 0; j < stride; j += kLanes)
        for (int l = 0; l < kLanes; ++l) peaks[l] = s[j + l] > peaks[l] ? s[j + l] : peaks[l];
      float peak = running->peak[row];
      for (const float v : peaks) peak = v > peak ? v : peak;
      const float base = peak == -kInfinity ? 0 : peak;
      for (std::int32_t j = 0; j < stride; j += kLanes)
        for (int l = 0; l < kLanes; ++l) {
          const float e = exponential(s[j + l] - base);
          sums[l] += e;
          s[j + l] = e;
        }
      for (std::int32_t j = 0; j < stride; ++j) out[j] = Lane::store(s[j]);
      const float correction = running->peak[row] == -kInfinity ? 0 : exponential(running->peak[row] - base);
      running->total[row] = running->total[row] * correction + combined_sum(sums);
      running->correction[row] = correction;
      running->peak[row] = peak;
    }
  }
};

struct GradientRows {
  const float *dp, *log_total, *dot;
};

template <class Lane>
struct SoftmaxGradient {
  using Code = typename Lane::Code;
  static void run(const ScoreTile* tile, const GradientRows* rows, Code* p, Code* ds) {
    const ScoreTile& t = *tile;
    for (std::int64_t row = 0; row < t.rows; ++row) {
      const std::int64_t at = row * t.stride;
      const float *__restrict s = t.scores + at, *__restrict dp = rows->dp + at;
      Code *__restrict to_p = p + at, *__restrict to_ds = ds + at;
      const std::int32_t keys = seen(t, row), stride = static_cast<std::int32_t>(t.stride);
      const float factor = t.factor, log_total = rows->log_total[row], dot = rows->dot[row];
      for (std::int32_t j = 0; j < stride; ++j) {
        const float e = exponential(s[j] * factor - log_total), g = e * (dp[j] - dot) * factor;
        to_p[j] = Lane::store(j < keys ? e : 0.0f);
        to_ds[j] = Lane::store(j < keys ? g : 0.0f);
      }
    }
  }
};

template <class Lane>
struct Load {
  static void run(const typename Lane::Code* from, std::int64_t stride, std::int64_t rows, std::int64_t width,
                  float* to) {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < width; ++i) to[row * width + i] = Lane::load(from[row * stride + i]);
  }
};

template <class Lane>
struct Store {
  static void run(const float* from, std::int64_t rows, std::int64_t width, typename Lane::Code* to,
                  std::int64_t stride) {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < width; ++i) to[row * stride + i] = Lane::store(from[row * width + i]);
  }
};

struct Scale {
  static void run(float* x, std::int64_t rows, std::int64_t width, const float* factors) {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < width; ++i) x[row * width + i] *= factors[row];
  }
};

struct Dot {
  static void run(const float* a, const float* b, std::int64_t rows, std::int64_t width, float* dots) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float *x = a + row * width, *y = b + row * width;
      float sums[kLanes] = {};
      std::int64_t i = 0;
      for (; i + kLanes <= width; i += kLanes)
        for (int l = 0; l < kLanes; ++l) sums[l] += x[i + l] * y[i + l];
      for (; i < width; ++i) sums[0] += x[i] * y[i];
      dots[row] = combined_sum(sums);
    }
  }
};

bool has_lane(DType dtype) { return dtype == bfloat16 || dtype == float32; }

// x, rounded to `rounded`, as codes of `format`, which holds its values.
void round_tile(const std::vector<float>& x, DType format, DType rounded, void* to) {
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> codes(x.size() * static_cast<std::size_t>(rounded.bytes()));
  std::vector<float> values(x.size());
  encode_row(rounded, x.data(), codes.data(), count);
  decode_row(rounded, codes.data(), values.data(), count);
  encode_row(format, values.data(), to, count);
}

std::size_t size(const ScoreTile& t) { return static_cast<std::size_t>(t.rows * t.stride); }

}  // namespace

void softmax_tile(const ScoreTile& tile, const RunningSoftmax& running, DType format, DType rounded,
                  void* p) {
  if (rounded != format) {
    std::vector<float> exact(size(tile));
    at_simd_level<Softmax<Float32Lane>>(&tile, &running, exact.data());
    return round_tile(exact, format, rounded, p);
  }
  with_lane(format == bfloat16, [&](auto lane) {
    using Lane = decltype(lane);
    at_simd_level<Softmax<Lane>>(&tile, &running, static_cast<typename Lane::Code*>(p));
  });
}

void softmax_gradient_tile(const ScoreTile& tile, const float* dp, const float* log_total, const float* dot,
                           DType format, DType rounded, void* p, void* ds) {
  const GradientRows rows{dp, log_total, dot};
  if (rounded != format) {
    std::vector<float> exact_p(size(tile)), exact_ds(size(tile));
    at_simd_level<SoftmaxGradient<Float32Lane>>(&tile, &rows, exact_p.data(), exact_ds.data());
    round_tile(exact_p, format, rounded, p);
    return round_tile(exact_ds, format, rounded, ds);
  }
  with_lane(format == bfloat16, [&](auto lane) {
    using Lane = decltype(lane);
    using Code = typename Lane::Code;
    at_simd_level<SoftmaxGradient<Lane>>(&tile, &rows, static_cast<Code*>(p), static_cast<Code*>(ds));
  });
}

void load_rows(DType dtype, const void* from, std::int64_t stride, std::int64_t rows, std::int64_t width,
               float* to) {
  if (!has_lane(dtype)) {
    for (std::int64_t row = 0; row < rows; ++row)
      decode_row(dtype, advance(from, dtype, row * stride), to + row * width, width);
    return;
  }
  with_lane(dtype == bfloat16, [&](auto lane) {
    using Lane = decltype(lane);
    at_simd_level<Load<Lane>>(static_cast<const typename Lane::Code*>(from), stride, rows, width, to);
  });
}

void store_rows(const float* from, std::int64_t rows, std::int64_t width, DType dtype, void* to,
                std::int64_t stride) {
  if (!has_lane(dtype)) {
    for (std::int64_t row = 0; row < rows; ++row)
      encode_row(dtype, from + row * width, advance(to, dtype, row * stride), width);
    return;
  }
  with_lane(dtype == bfloat16, [&](auto lane) {
    using Lane = decltype(lane);
    at_simd_level<Store<Lane>>(from, rows, width, static_cast<typename Lane::Code*>(to), stride);
  });
}

void scale_rows(float* x, std::int64_t rows, std::int64_t width, const float* factors) {
  at_simd_level<Scale>(x, rows, width, factors);
}

void dot_rows(const float* a, const float* b, std::int64_t rows, std::int64_t width, float* dots) {
  at_simd_level<Dot>(a, b, rows, width, dots);
}

}  // namespace halftone::cpu
