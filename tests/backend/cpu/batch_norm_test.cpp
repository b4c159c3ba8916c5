// SPDX-License-Identifier: Apache-2.0
//
// Against plain loops in double, over values read exactly.
#include <algorithm>
#include <any>
#include <array>

#include "backend/cpu/bounds.h"
#include "backend/cpu/kernels.h"
#include "backend/kernel_options.h"

namespace halftone {
namespace {

using test::kUnit;
using test::uniform;

constexpr double kEpsilon = 1e-5;

struct Forward {
  Tensor y, mean, inverse, variance;
};

Forward forward(const Tensor& x, const Tensor& weight, const Tensor& bias, DType result,
                double epsilon = kEpsilon) {
  const std::int64_t c = x.size(-1);
  const Forward out{Tensor(x.shape(), result), Tensor({c}, float32), Tensor({c}, float32),
                    Tensor({c}, float32)};
  const std::any options = BatchNormOptions{epsilon};
  const std::array in{x, weight, bias};
  const std::array results{out.y, out.mean, out.inverse, out.variance};
  cpu::batch_norm_forward({in, results, options});
  return out;
}

struct Backward {
  Tensor dx, dweight, dbias;
};

Backward backward(const Tensor& x, const Tensor& weight, const Forward& saved, const Tensor& dy,
                  DType result) {
  const std::int64_t c = x.size(-1);
  const Backward out{Tensor(x.shape(), result), Tensor({c}, float32), Tensor({c}, float32)};
  const std::any options = BatchNormOptions{kEpsilon};
  const std::array in{x, weight, saved.mean, saved.inverse, dy};
  const std::array results{out.dx, out.dweight, out.dbias};
  cpu::batch_norm_backward({in, results, options});
  return out;
}

// Exact statistics of one channel, and its range.
struct Channel {
  double mean = 0, variance = 0, range = 0;
  Channel(const std::vector<double>& x, std::size_t channel, std::size_t channels) {
    double low = INFINITY, high = -INFINITY;
    const double rows = static_cast<double>(x.size() / channels);
    for (std::size_t i = channel; i < x.size(); i += channels) {
      mean += x[i] / rows;
      low = std::min(low, x[i]), high = std::max(high, x[i]);
    }
    for (std::size_t i = channel; i < x.size(); i += channels)
      variance += (x[i] - mean) * (x[i] - mean) / rows;
    range = high - low;
  }
  // Sums of at most 64 float32 differences, each at most `range`: the mean of the sums is off by at most 66 u
  // range, that of their squares by 66 u range^2 (twice, with the square of the mean).
  double mean_error() const { return 66 * kUnit * range; }
  double variance_error() const { return 3 * 66 * kUnit * range * range; }
};

double rounded(double value, double error, DType dtype) {
  return error + epsilon(dtype.format()) / 2 * (std::abs(value) + error) + min_subnormal(dtype.format()) / 2;
}

void expect_normalised(const Tensor& x, const Tensor& weight, const Tensor& bias, const Forward& out,
                       const std::string& what) {
  const std::vector<double> v = x.to_vector(), w = weight.to_vector(), b = bias.to_vector(),
                            y = out.y.to_vector();
  const std::size_t channels = w.size();
  for (std::size_t c = 0; c < channels; ++c) {
    const Channel exact(v, c, channels);
    const double inverse = 1 / std::sqrt(exact.variance + kEpsilon);
    const double relative = exact.variance_error() / (exact.variance + kEpsilon) / 2 * 1.1;
    ASSERT_NEAR(out.mean.to_vector()[c], exact.mean, exact.mean_error() + kUnit * std::abs(exact.mean))
        << what;
    ASSERT_NEAR(out.variance.to_vector()[c], exact.variance, exact.variance_error() + kUnit * exact.variance)
        << what;
    ASSERT_NEAR(out.inverse.to_vector()[c], inverse, inverse * (relative + kUnit)) << what;
    for (std::size_t i = c; i < v.size(); i += channels) {
      const double centred = (v[i] - exact.mean) * inverse * w[c], value = centred + b[c];
      const double error = std::abs(inverse * w[c]) * exact.mean_error() * 1.1 +
                           std::abs(centred) * (relative + 6 * kUnit) + 2 * kUnit * std::abs(value);
      ASSERT_NEAR(y[i], value, rounded(value, error, out.y.dtype())) << what << ", element " << i;
    }
  }
}

std::string name(const Tensor& x, DType result) {
  return std::string(x.dtype().name()) + " " + to_string(x.shape()) + " to " + std::string(result.name());
}

const Shape kShapes[] = {{7, 1},   {300, 3},     {2, 5, 4, 16}, {3, 33, 31, 32},
                         {5, 130}, {2, 600, 50}, {40000, 1}};

TEST(BatchNorm, ValuesAndStatisticsOfEveryFormatAreAsDefined) {
  for (const Shape& shape : kShapes)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {dtype, float32}) {
        const Tensor x = uniform(shape, dtype, 1, -2, 3), weight = uniform({shape[-1]}, float32, 2, 0.5, 2),
                     bias = uniform({shape[-1]}, float32, 3);
        expect_normalised(x, weight, bias, forward(x, weight, bias, result), name(x, result));
        if (HasFatalFailure()) return;
      }
}

TEST(BatchNorm, AMeanFarFromZeroCostsNoAccuracy) {
  for (const double mean : {1000.0, -30000.0}) {
    const Tensor x = uniform({500, 70}, float32, 4, mean - 0.5, mean + 0.5), weight = ones({70}),
                 bias = zeros({70});
    expect_normalised(x, weight, bias, forward(x, weight, bias, float32), "mean " + std::to_string(mean));
  }
}

TEST(BatchNorm, AConstantChannelBecomesTheBias) {
  const Tensor x = full({2000, 5}, 3.7, float16), weight = full({5}, 2), bias = uniform({5}, float32, 5);
  const Forward out = forward(x, weight, bias, float32);
  EXPECT_EQ(out.variance.to_vector(), std::vector<double>(5, 0.0));
  const std::vector<double> y = out.y.to_vector(), b = bias.to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], b[i % 5]);
}

TEST(BatchNorm, ANaNStaysInItsChannel) {
  Tensor x = uniform({100, 3}, float32, 6);
  x.mutable_data<float>()[3 * 50 + 1] = NAN;
  const Forward out = forward(x, ones({3}), zeros({3}), float32);
  const std::vector<double> y = out.y.to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(std::isnan(y[i]), i % 3 == 1);
}

TEST(BatchNorm, GradientsOfEveryFormatAreAsDefined) {
  for (const Shape& shape : kShapes)
    for (const DType dtype : test::contraction_formats())
      for (const DType gradient : {dtype, float32}) {
        const Tensor x = uniform(shape, dtype, 7, -1, 2), dy = uniform(shape, gradient, 8);
        const Tensor weight = uniform({shape[-1]}, float32, 9, 0.5, 2);
        const Forward saved = forward(x, weight, zeros({shape[-1]}), dtype);
        const Backward out = backward(x, weight, saved, dy, dtype);
        const std::vector<double> v = x.to_vector(), g = dy.to_vector(), w = weight.to_vector(),
                                  dx = out.dx.to_vector();
        const std::vector<double> mean = saved.mean.to_vector(), inverse = saved.inverse.to_vector();
        const std::size_t channels = w.size();
        const double rows = static_cast<double>(v.size() / channels);
        for (std::size_t c = 0; c < channels; ++c) {
          double sum = 0, product = 0, magnitude = 0, product_magnitude = 0;
          for (std::size_t i = c; i < v.size(); i += channels) {
            const double hat = (v[i] - mean[c]) * inverse[c];
            sum += g[i], product += g[i] * hat;
            magnitude += std::abs(g[i]), product_magnitude += std::abs(g[i] * hat);
          }
          const double sum_error = 66 * kUnit * magnitude, product_error = 70 * kUnit * product_magnitude;
          ASSERT_NEAR(out.dbias.to_vector()[c], sum, sum_error) << name(x, gradient);
          ASSERT_NEAR(out.dweight.to_vector()[c], product, product_error) << name(x, gradient);
          for (std::size_t i = c; i < v.size(); i += channels) {
            const double hat = (v[i] - mean[c]) * inverse[c], scale = std::abs(w[c] * inverse[c]);
            const double value = w[c] * inverse[c] * (g[i] - sum / rows - hat * product / rows);
            const double parts = std::abs(g[i]) + magnitude / rows + std::abs(hat) * product_magnitude / rows;
            const double error =
                scale * ((sum_error + std::abs(hat) * product_error) / rows + 8 * kUnit * parts);
            ASSERT_NEAR(dx[i], value, rounded(value, error, dtype)) << name(x, gradient) << ", element " << i;
          }
        }
      }
}

TEST(BatchNorm, ThreadsAndSimdLevelsGiveTheSameBits) {
  const test::Threads restore;
  const SimdLevel best = best_simd_level();
  for (const Shape& shape : {Shape{9, 31, 33, 32}, Shape{3000, 33}, Shape{100000, 1}})
    for (const DType dtype : {float32, bfloat16, float16}) {
      const Tensor x = uniform(shape, dtype, 10), dy = uniform(shape, dtype, 11),
                   weight = uniform({shape[-1]}, float32, 12);
      std::vector<std::vector<Tensor>> runs;
      for (int level = 0; level <= static_cast<int>(best); ++level)
        for (const int threads : {1, 2, 3}) {
          set_simd_level(static_cast<SimdLevel>(level));
          set_thread_count(threads);
          const Forward f = forward(x, weight, weight, dtype);
          const Backward b = backward(x, weight, f, dy, dtype);
          runs.push_back({f.y, f.mean, f.inverse, f.variance, b.dx, b.dweight, b.dbias});
        }
      set_simd_level(best);
      for (const std::vector<Tensor>& run : runs)
        for (std::size_t i = 0; i < run.size(); ++i)
          EXPECT_TRUE(test::same_bits(run[i], runs[0][i])) << name(x, dtype) << " output " << i;
    }
}

TEST(BatchNorm, OperandsNeedNotBeContiguous) {
  const Tensor planes = uniform({4, 6, 50}, bfloat16, 13), x = planes.view({4, 50, 6}, {300, 1, 50}, 0);
  const Tensor weight = uniform({6}, bfloat16, 14), bias = uniform({6}, float16, 15);
  expect_normalised(x, weight, bias, forward(x, weight, bias, bfloat16), "channels first");
}

}  // namespace
}  // namespace halftone
