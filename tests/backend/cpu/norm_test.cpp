// SPDX-License-Identifier: Apache-2.0
//
// Against plain loops in double, at magnitudes whose squares leave the range of float32, and far from zero.
#include <any>
#include <array>

#include "backend/cpu/bounds.h"
#include "backend/cpu/kernels.h"
#include "backend/kernel_options.h"
#include "backend/support.h"

namespace halftone {
namespace {

using test::uniform;

struct Gradients {
  Tensor dx, dw, db;
};

Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b, double epsilon, DType result) {
  const Tensor y(x.shape(), result);
  const std::array in{x, w, b};
  const std::any options = NormOptions{epsilon};
  if (b)
    cpu::layer_norm_forward({in, std::span(&y, 1), options});
  else
    cpu::rms_norm_forward({std::span(in).first(2), std::span(&y, 1), options});
  return y;
}

Gradients backward(const Tensor& x, const Tensor& w, const Tensor& dy, bool centred, double epsilon,
                   DType result, const Tensor& others = {}) {
  const Shape width{x.size(-1)};
  const Gradients g{Tensor(x.shape(), result), Tensor(width, float32), Tensor(width, float32)};
  const std::array in{x, w, dy, others};
  const std::array out{g.dx, g.dw, g.db};
  const std::any options = NormOptions{epsilon};
  centred ? cpu::layer_norm_backward({in, out, options})
          : cpu::rms_norm_backward({in, std::span(out).first(2), options});
  return g;
}

// `largest`: of the terms that make the results, which may cancel.
void expect_near(const Tensor& actual, const std::vector<double>& expected, double units, double largest,
                 const std::string& what) {
  const std::vector<double> a = actual.to_vector();
  for (const double v : expected) largest = std::max(largest, std::abs(v));
  const double unit = epsilon(actual.dtype().format()) / 2;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], expected[i], largest * (unit + units * test::kUnit)) << what << ", element " << i;
}

void expect_as_defined(const Tensor& x, bool centred, double epsilon, DType result, double units) {
  const std::int64_t width = x.size(-1);
  const Tensor w = uniform({width}, float32, 2, 0.5, 2), b = uniform({width}, float32, 3),
               dy = uniform(x.shape(), result, 4);
  const std::vector<double> v = x.to_vector(), weight = w.to_vector(), bias = b.to_vector(),
                            g = dy.to_vector();
  double of_dx = 0;
  std::vector<double> y(v.size()), dx(v.size()), dw(weight.size()), db(weight.size());
  const auto n = weight.size();
  for (std::size_t row = 0; row < v.size(); row += n) {
    double mean = 0, variance = 0, sum = 0, product = 0;
    for (std::size_t i = 0; centred && i < n; ++i) mean += v[row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      variance += (v[row + i] - mean) * (v[row + i] - mean) / static_cast<double>(n);
    const double inverse = 1 / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      const double h = (v[row + i] - mean) * inverse, d = g[row + i];
      y[row + i] = h * weight[i] + (centred ? bias[i] : 0);
      sum += centred ? weight[i] * d / static_cast<double>(n) : 0;
      product += weight[i] * d * h / static_cast<double>(n);
      dw[i] += d * h, db[i] += d;
    }
    for (std::size_t i = 0; i < n; ++i) {
      of_dx = std::max(
          of_dx,
          (std::abs(weight[i] * g[row + i]) + std::abs((v[row + i] - mean) * inverse * product)) * inverse);
      dx[row + i] = (weight[i] * g[row + i] - sum - (v[row + i] - mean) * inverse * product) * inverse;
    }
  }
  const std::string what = std::string(x.dtype().name()) + " " + to_string(x.shape());
  expect_near(forward(x, w, centred ? b : Tensor(), epsilon, result), y, units, 0, what + " y");
  const Gradients actual = backward(x, w, dy, centred, epsilon, result);
  expect_near(actual.dx, dx, units, of_dx, what + " dx");
  expect_near(actual.dw, dw, units, 0, what + " dw");
  if (centred) expect_near(actual.db, db, units, 0, what + " db");
}

TEST(Norm, ValuesAndGradientsAreAsDefinedInEveryFormat) {
  for (const Shape& shape : {Shape{7, 1}, Shape{300, 33}, Shape{2, 67, 384}, Shape{3, 4100}})
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {dtype, float32})
        for (const bool centred : {true, false})
          expect_as_defined(uniform(shape, dtype, 1, -2, 3), centred, 1e-5, result, 40);
}

TEST(Norm, OtherGradientsAreAddedInFloat32BeforeTheOneRounding) {
  for (const DType dtype : test::contraction_formats())
    for (const bool centred : {true, false}) {
      const Shape shape{70, 100};
      const Tensor x = uniform(shape, dtype, 1, -2, 3), w = uniform({100}, float32, 2, 0.5, 2),
                   dy = uniform(shape, dtype, 3);
      const Gradients alone = backward(x, w, dy, centred, 1e-5, float32);
      const std::vector<double> dx = alone.dx.to_vector();
      for (const DType of_others : {dtype, float32}) {
        const Tensor others = uniform(shape, of_others, 4, -300, 300);
        const std::vector<double> added = others.to_vector();
        std::vector<double> sum(dx.size());
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] = static_cast<float>(added[i]) + static_cast<float>(dx[i]);
        const Gradients actual = backward(x, w, dy, centred, 1e-5, dtype, others);
        EXPECT_EQ(actual.dx.to_vector(), from_values(sum, shape, dtype).to_vector());
        EXPECT_EQ(actual.dw.to_vector(), alone.dw.to_vector());
        if (centred) {
          EXPECT_EQ(actual.db.to_vector(), alone.db.to_vector());
        }
      }
    }
}

TEST(Norm, MagnitudesWhoseSquaresLeaveTheRangeOfFloat32) {
  for (const double size : {300.0, 1e-24, 1e18, 1e25, 1e36})
    for (const bool centred : {true, false}) {
      const Tensor x = uniform({5, 384}, float32, 6, -size, size);
      const Tensor w = ones({384}), b = centred ? zeros({384}) : Tensor();
      const double epsilon = 1e-60;
      for (const double v : forward(x, w, b, epsilon, float32).to_vector()) ASSERT_LT(std::abs(v), 2) << size;
      const std::vector<double> unit =
          forward(uniform({5, 384}, float32, 6, -1, 1), w, b, 1e-60, float32).to_vector();
      const std::vector<double> y = forward(x, w, b, epsilon, float32).to_vector();
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], unit[i], 1e-5) << size;
    }
}

TEST(Norm, AMeanFarFromZeroCostsNoAccuracy) {
  for (const double mean : {1000.0, -90000.0})
    expect_as_defined(uniform({20, 384}, float32, 5, mean - 8, mean + 8), true, 1e-5, float32, 60);
}

TEST(Norm, HasTheSameBitsEverywhere) {
  const Tensor x = uniform({900, 100}, float32, 1), w = uniform({100}, float32, 2),
               dy = uniform({900, 100}, bfloat16, 3);
  testing::expect_the_same_bits_everywhere([&] { return forward(x, w, w, 1e-5, bfloat16); }, "y");
  testing::expect_the_same_bits_everywhere([&] { return backward(x, w, dy, true, 1e-5, bfloat16).dx; }, "dx");
  testing::expect_the_same_bits_everywhere([&] { return backward(x, w, dy, true, 1e-5, bfloat16).dw; }, "dw");
}

}  // namespace
}  // namespace halftone
