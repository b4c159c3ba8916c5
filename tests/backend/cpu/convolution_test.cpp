// SPDX-License-Identifier: Apache-2.0
//
// Against plain loops in double.
#include "backend/cpu/bounds.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/onednn_loops.h"

namespace halftone {
namespace {

using test::expect_sums;
using test::Sum;
using test::uniform;

struct Case {
  std::int64_t batch, height, width, in, out, kernel_height, kernel_width;
  int stride, padding;

  Shape image() const { return {batch, height, width, in}; }
  Shape filter() const { return {out, kernel_height, kernel_width, in}; }
  Shape result() const {
    return {batch, (height + 2 * padding - kernel_height) / stride + 1,
            (width + 2 * padding - kernel_width) / stride + 1, out};
  }
  Convolution call(const Tensor& image, const Tensor& filter, const Tensor& result,
                   const Tensor& bias = {}) const {
    return {.image = image,
            .filter = filter,
            .bias = bias,
            .result = result,
            .stride = stride,
            .padding = padding};
  }
  std::string name(DType dtype) const {
    return std::string(dtype.name()) + " " + to_string(image()) + " " + to_string(filter()) + " stride " +
           std::to_string(stride) + " padding " + std::to_string(padding);
  }
};

constexpr Case kCases[] = {
    {2, 5, 5, 3, 4, 3, 3, 1, 1},      {3, 6, 8, 1, 5, 3, 3, 1, 0},
    {1, 9, 7, 17, 33, 3, 3, 1, 1},    {2, 9, 8, 4, 6, 3, 3, 2, 1},
    {2, 8, 8, 16, 16, 1, 1, 1, 0},    {2, 8, 8, 5, 3, 2, 2, 2, 0},
    {1, 7, 7, 2, 3, 5, 5, 1, 2},      {2, 8, 7, 3, 2, 3, 2, 3, 1},
    {19, 12, 12, 16, 32, 3, 3, 1, 1},  // groups of images, and a smaller last one
};

// visit(image index, filter index, result index) for every product of the definition.
template <class Visit>
void products(const Case& c, const Visit& visit) {
  const Shape y = c.result();
  for (std::int64_t n = 0, at = 0; n < c.batch; ++n)
    for (std::int64_t i = 0; i < y[1]; ++i)
      for (std::int64_t j = 0; j < y[2]; ++j)
        for (std::int64_t o = 0; o < c.out; ++o, ++at)
          for (std::int64_t u = 0; u < c.kernel_height; ++u)
            for (std::int64_t v = 0; v < c.kernel_width; ++v) {
              const std::int64_t row = i * c.stride + u - c.padding, column = j * c.stride + v - c.padding;
              if (row < 0 || row >= c.height || column < 0 || column >= c.width) continue;
              for (std::int64_t k = 0; k < c.in; ++k)
                visit(static_cast<std::size_t>(((n * c.height + row) * c.width + column) * c.in + k),
                      static_cast<std::size_t>(((o * c.kernel_height + u) * c.kernel_width + v) * c.in + k),
                      static_cast<std::size_t>(at));
            }
}

std::vector<Sum> sums_for(const Shape& shape) {
  return std::vector<Sum>(static_cast<std::size_t>(shape.count()));
}

std::vector<Sum> exact_result(const Case& c, const Tensor& image, const Tensor& filter,
                              const Tensor& bias = {}) {
  const std::vector<double> x = image.to_vector(), f = filter.to_vector();
  std::vector<Sum> sums = sums_for(c.result());
  products(c, [&](std::size_t i, std::size_t k, std::size_t r) { sums[r].add(x[i] * f[k]); });
  if (bias.defined()) {
    const std::vector<double> b = bias.to_vector();
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r].add(b[r % b.size()]);
  }
  return sums;
}

std::vector<Sum> exact_filter_gradient(const Case& c, const Tensor& image, const Tensor& dy) {
  const std::vector<double> x = image.to_vector(), g = dy.to_vector();
  std::vector<Sum> sums = sums_for(c.filter());
  products(c, [&](std::size_t i, std::size_t k, std::size_t r) { sums[k].add(x[i] * g[r]); });
  return sums;
}

std::vector<Sum> exact_image_gradient(const Case& c, const Tensor& filter, const Tensor& dy) {
  const std::vector<double> f = filter.to_vector(), g = dy.to_vector();
  std::vector<Sum> sums = sums_for(c.image());
  products(c, [&](std::size_t i, std::size_t k, std::size_t r) { sums[i].add(f[k] * g[r]); });
  return sums;
}

TEST(CpuConvolution, ResultsOfEveryFormatAreSumsOfExactProducts) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {float32, dtype})
        for (const bool with_bias : {false, true}) {
          const Tensor image = uniform(c.image(), dtype, 1), filter = uniform(c.filter(), dtype, 2),
                       y(c.result(), result);
          const Tensor bias = with_bias ? uniform({c.out}, float32, 3) : Tensor();
          cpu::convolution(c.call(image, filter, y, bias));
          expect_sums(y, exact_result(c, image, filter, bias), c.name(dtype));
          if (HasFatalFailure()) return;
        }
}

TEST(CpuConvolution, ImageGradientsOfEveryFormatAreSumsOfExactProducts) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {float32, dtype}) {
        const Tensor filter = uniform(c.filter(), dtype, 4), dy = uniform(c.result(), dtype, 5),
                     dx(c.image(), result);
        cpu::convolution_image_gradient(c.call(dx, filter, dy));
        expect_sums(dx, exact_image_gradient(c, filter, dy), c.name(dtype));
        if (HasFatalFailure()) return;
      }
}

TEST(CpuConvolution, FilterGradientsAreFloat32SumsOfExactProducts) {
  for (const Case& c : kCases)
    for (const DType dtype : test::contraction_formats()) {
      const Tensor image = uniform(c.image(), dtype, 6), dy = uniform(c.result(), dtype, 7),
                   df(c.filter(), float32);
      cpu::convolution_filter_gradient(c.call(image, df, dy));
      expect_sums(df, exact_filter_gradient(c, image, dy), c.name(dtype));
      if (HasFatalFailure()) return;
    }
}

TEST(CpuConvolution, AFilterGradientMayBeAddedToOneBegun) {
  const Case& c = kCases[3];
  for (const DType dtype : test::contraction_formats()) {
    const Tensor image = uniform(c.image(), dtype, 8), dy = uniform(c.result(), dtype, 9),
                 df = uniform(c.filter(), float32, 10);
    std::vector<Sum> sums = exact_filter_gradient(c, image, dy);
    const std::vector<double> before = df.to_vector();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add(before[i]);
    Convolution call = c.call(image, df, dy);
    call.accumulate = true;
    cpu::convolution_filter_gradient(call);
    expect_sums(df, sums, c.name(dtype));
  }
}

TEST(CpuConvolution, OperandsOfTwoFormatsAreBothReadExactly) {
  const Case& c = kCases[2];
  for (const DType left : test::contraction_formats())
    for (const DType right : test::contraction_formats()) {
      const Tensor image = uniform(c.image(), left, 11), filter = uniform(c.filter(), right, 12),
                   y(c.result(), float32);
      cpu::convolution(c.call(image, filter, y));
      expect_sums(y, exact_result(c, image, filter), c.name(left) + " " + std::string(right.name()));
    }
}

TEST(CpuConvolution, ImagesAndFiltersMayHaveAnyStrides) {
  const Case& c = kCases[0];
  for (const DType dtype : test::contraction_formats()) {
    // Stored channels-first, seen channels-last.
    const Tensor planes = uniform({c.batch, c.in, c.height, c.width}, dtype, 13);
    const Shape s = planes.strides();
    const Tensor image = planes.view(c.image(), {s[0], s[2], s[3], s[1]}, 0);
    const Tensor taps = uniform({c.kernel_height, c.kernel_width, c.in, c.out}, dtype, 14);
    const Shape t = taps.strides();
    const Tensor filter = taps.view(c.filter(), {t[3], t[0], t[1], t[2]}, 0);
    const Shape r = c.result();
    const Tensor rows({r[0], r[3], r[1], r[2]}, dtype);
    const Shape q = rows.strides();
    const Tensor y = rows.view(r, {q[0], q[2], q[3], q[1]}, 0);
    cpu::convolution(c.call(image, filter, y));
    expect_sums(y, exact_result(c, image, filter), c.name(dtype));
  }
}

TEST(CpuConvolution, Float64AndEmptyBatchesAreServed) {
  const Case& c = kCases[0];
  const Tensor image = uniform(c.image(), float64, 15), filter = uniform(c.filter(), float64, 16),
               y(c.result(), float64);
  cpu::convolution(c.call(image, filter, y));
  const std::vector<double> values = y.to_vector();
  const std::vector<Sum> sums = exact_result(c, image, filter);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], sums[i].value, 1e-13);

  Case none = c;
  none.batch = 0;
  const Tensor df = full(c.filter(), 5);
  cpu::convolution_filter_gradient(
      none.call(Tensor(none.image(), bfloat16), df, Tensor(none.result(), bfloat16)));
  EXPECT_EQ(df.to_vector(), std::vector<double>(static_cast<std::size_t>(df.count()), 0.0));
}

TEST(CpuConvolution, AnyNumberOfThreadsGivesTheSameBits) {
  constexpr Case kLarge[] = {
      {19, 28, 28, 1, 32, 3, 3, 1, 1}, {21, 28, 28, 8, 16, 3, 3, 1, 1}, {33, 14, 14, 64, 32, 3, 3, 1, 1}};
  const test::Threads restore;
  for (const Case& c : kLarge)
    for (const DType dtype : {float32, bfloat16, float16}) {
      const Tensor image = uniform(c.image(), dtype, 17), filter = uniform(c.filter(), dtype, 18),
                   dy = uniform(c.result(), dtype, 19);
      std::vector<std::array<Tensor, 3>> runs;
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        cpu::forget_primitives();  // as in a process that never had another number
        runs.push_back({Tensor(c.result(), dtype), Tensor(c.image(), dtype), full(c.filter(), 0.1)});
        cpu::convolution(c.call(image, filter, runs.back()[0]));
        cpu::convolution_image_gradient(c.call(runs.back()[1], filter, dy));
        Convolution gradient = c.call(image, runs.back()[2], dy);
        gradient.accumulate = true;
        cpu::convolution_filter_gradient(gradient);
      }
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t run = 1; run < runs.size(); ++run)
          EXPECT_TRUE(test::same_bits(runs[0][i], runs[run][i])) << c.name(dtype) << " output " << i;
    }
}

}  // namespace
}  // namespace halftone
