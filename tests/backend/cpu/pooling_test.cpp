// SPDX-License-Identifier: Apache-2.0
//
// Against plain loops over the windows.
#include <any>
#include <array>

#include "backend/cpu/bounds.h"
#include "backend/cpu/kernels.h"
#include "backend/kernel_options.h"

namespace halftone {
namespace {

using test::Sum;
using test::uniform;

struct Case {
  Shape pooled;
  int size;
  Shape image() const { return {pooled[0], pooled[1] * size, pooled[2] * size, pooled[3]}; }
  std::size_t places() const { return static_cast<std::size_t>(size * size); }

  // Where element `place` of the window of result number `index` lies in the image.
  std::size_t at(std::size_t index, std::size_t place) const {
    const auto i = static_cast<std::int64_t>(index), p = static_cast<std::int64_t>(place);
    const std::int64_t c = i % pooled[3], x = i / pooled[3] % pooled[2], y = i / (pooled[3] * pooled[2]);
    return static_cast<std::size_t>(
        ((y * size + p / size) * pooled[2] * size + x * size + p % size) * pooled[3] + c);
  }
};

const Case kCases[] = {{{2, 3, 4, 32}, 2}, {{1, 2, 2, 1}, 2},  {{3, 2, 1, 50}, 3},  {{2, 1, 1, 17}, 7},
                       {{2, 2, 3, 5}, 1},  {{1, 1, 1, 3}, 16}, {{9, 14, 14, 33}, 2}};

struct Max {
  Tensor y, argmax;
};
Max max_forward(const Case& c, const Tensor& x, DType result) {
  const Max out{Tensor(c.pooled, result), Tensor(c.pooled, uint8)};
  const std::any options = PoolOptions{c.size};
  const std::array in{x};
  const std::array results{out.y, out.argmax};
  cpu::max_pool2d_forward({in, results, options});
  return out;
}
Tensor run(Kernel kernel, const Case& c, const std::vector<Tensor>& in, const Shape& shape, DType result) {
  const Tensor out = full(shape, 7, result);
  const std::any options = PoolOptions{c.size};
  const std::array results{out};
  kernel({in, results, options});
  return out;
}

void expect_maxima(const Case& c, const Tensor& x, const Max& out) {
  const std::vector<double> v = x.to_vector(), y = out.y.to_vector(), argmax = out.argmax.to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::size_t chosen = 0;
    for (std::size_t place = 1; place < c.places(); ++place) {
      const double best = v[c.at(i, chosen)], value = v[c.at(i, place)];
      if (!std::isnan(best) && (std::isnan(value) || value > best)) chosen = place;
    }
    const double best = v[c.at(i, chosen)];
    ASSERT_EQ(static_cast<std::size_t>(argmax[i]), chosen) << x.dtype().name() << " " << i;
    if (std::isnan(best))
      ASSERT_TRUE(std::isnan(y[i]));
    else
      ASSERT_EQ(y[i], best);
  }
}

TEST(Pooling, TheMaximumOfEveryWindowAndItsPlace) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {dtype, float32}) {
        const Tensor x = uniform(c.image(), dtype, 1);
        expect_maxima(c, x, max_forward(c, x, result));
        if (HasFatalFailure()) return;
      }
}

TEST(Pooling, OfEqualMaximaTheFirstWinsAndANaNOverAll) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats()) {
      const Tensor chosen = uniform(c.image(), int32, 2, 0, 4);
      std::vector<double> values;
      for (const double v : chosen.to_vector()) values.push_back(v == 3 ? NAN : std::floor(v) / 2);
      const Tensor x = from_values(values, c.image(), dtype);
      expect_maxima(c, x, max_forward(c, x, dtype));
      if (HasFatalFailure()) return;
    }
}

TEST(Pooling, TheGradientOfAMaximumGoesToItsPlaceAlone) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {dtype, float32}) {
        const Tensor dy = uniform(c.pooled, dtype, 3),
                     argmax = max_forward(c, uniform(c.image(), dtype, 4), dtype).argmax;
        const Tensor dx = run(cpu::max_pool2d_backward, c, {dy, argmax}, c.image(), result);
        const std::vector<double> g = dy.to_vector(), chosen = argmax.to_vector();
        std::vector<double> expected(static_cast<std::size_t>(dx.count()));
        for (std::size_t i = 0; i < g.size(); ++i)
          expected[c.at(i, static_cast<std::size_t>(chosen[i]))] = g[i];
        EXPECT_EQ(dx.to_vector(), expected) << dtype.name();
      }
}

TEST(Pooling, TheGradientOfAMaximumIsACodeOfEightBytesToo) {
  const Case c{{1, 1, 1, 2}, 2};
  const Shape strides = contiguous_strides(c.pooled);
  const Tensor dy = from_values({1 + 0x1p-52, -3}, float64).view(c.pooled, strides, 0),
               argmax = from_values({2, 1}, uint8).view(c.pooled, strides, 0);
  const Tensor dx = run(cpu::max_pool2d_backward, c, {dy, argmax}, c.image(), float64);
  EXPECT_EQ(dx.to_vector(), (std::vector<double>{0, 0, 0, -3, 1 + 0x1p-52, 0, 0, 0}));
}

TEST(Pooling, TheAverageOfEveryWindowIsRoundedOnce) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {dtype, float32}) {
        const Tensor x = uniform(c.image(), dtype, 5),
                     y = run(cpu::avg_pool2d_forward, c, {x}, c.pooled, result);
        const std::vector<double> v = x.to_vector();
        std::vector<Sum> sums(static_cast<std::size_t>(y.count()));
        for (std::size_t i = 0; i < sums.size(); ++i)
          for (std::size_t place = 0; place < c.places(); ++place)
            sums[i].add(v[c.at(i, place)] / static_cast<double>(c.places()));
        test::expect_sums(y, sums, std::string(dtype.name()));
        if (HasFatalFailure()) return;
      }
}

TEST(Pooling, TheGradientOfAnAverageIsSharedEqually) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {dtype, float32}) {
        const Tensor dy = uniform(c.pooled, dtype, 6),
                     dx = run(cpu::avg_pool2d_backward, c, {dy}, c.image(), result);
        const std::vector<double> g = dy.to_vector();
        std::vector<Sum> sums(static_cast<std::size_t>(dx.count()));
        for (std::size_t i = 0; i < g.size(); ++i)
          for (std::size_t place = 0; place < c.places(); ++place)
            sums[c.at(i, place)].add(g[i] / static_cast<double>(c.places()));
        test::expect_sums(dx, sums, std::string(dtype.name()));
        if (HasFatalFailure()) return;
      }
}

TEST(Pooling, ThreadsAndSimdLevelsGiveTheSameBits) {
  const test::Threads restore;
  const SimdLevel best = best_simd_level();
  const Case c{{16, 14, 14, 35}, 2};
  for (const DType dtype : {float32, bfloat16, float16}) {
    const Tensor x = uniform(c.image(), dtype, 7), dy = uniform(c.pooled, dtype, 8);
    std::vector<std::vector<Tensor>> runs;
    for (int level = 0; level <= static_cast<int>(best); ++level)
      for (const int threads : {1, 2, 3}) {
        set_simd_level(static_cast<SimdLevel>(level));
        set_thread_count(threads);
        const Max max = max_forward(c, x, dtype);
        runs.push_back({max.y, max.argmax,
                        run(cpu::max_pool2d_backward, c, {dy, max.argmax}, c.image(), dtype),
                        run(cpu::avg_pool2d_forward, c, {x}, c.pooled, dtype),
                        run(cpu::avg_pool2d_backward, c, {dy}, c.image(), dtype)});
      }
    set_simd_level(best);
    for (const std::vector<Tensor>& each : runs)
      for (std::size_t i = 0; i < each.size(); ++i)
        EXPECT_TRUE(test::same_bits(each[i], runs[0][i])) << dtype.name() << " output " << i;
  }
}

TEST(Pooling, AnEmptyBatchIsNothingToDo) {
  const Case c{{0, 2, 2, 3}, 2};
  EXPECT_EQ(run(cpu::avg_pool2d_forward, c, {Tensor(c.image(), bfloat16)}, c.pooled, bfloat16).count(), 0);
}

}  // namespace
}  // namespace halftone
