// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "amp/quantizers.h"
#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/parallel.h"

namespace halftone::amp {
namespace {

constexpr Operands kCurrent{OperandScaling::current, "float8_e4m3fn", "float8_e5m2"};
constexpr Operands kDelayed{OperandScaling::delayed, "float8_e4m3fn", "float8_e5m2"};

// The value of the format times 2^-k that is nearest to x, ties to the even code, saturating.
double nearest(const Format& format, double x, int k) {
  double best = 0, distance = kInf;
  for (std::uint64_t code = 0; code < std::uint64_t{1} << format.bits(); ++code) {
    const double value = std::ldexp(decode(format, code), -k), d = std::abs(value - x);
    if (std::isfinite(value) && (d < distance || (d == distance && code % 2 == 0)))
      best = value, distance = d;
  }
  return best;
}

Tensor quantized(const std::shared_ptr<const Quantizer>& quantizer, const Tensor& x,
                 OperandRole role = OperandRole::activation, std::string_view layer = "") {
  return quantizer->quantize(x, role, Along::last, layer);
}

TEST(TensorQuantizer, BringsTheLargestMagnitudeUnderTheLargestNumber) {
  const auto quantizer = make_tensor_quantizer(kCurrent, {});
  for (const double size : {1e-30, 1e-4, 1.0, 447.0, 448.0, 449.0, 3e4, 1e30}) {
    const std::vector<double> values = random_uniform({200}, -size, size, 1, 1).to_vector();
    std::vector<double> with_largest = values;
    with_largest[17] = -size;
    const Tensor x = from_values(with_largest, {200});
    double amax = 0;
    for (const double v : x.to_vector()) amax = std::max(amax, std::abs(v));
    for (const OperandRole role : {OperandRole::activation, OperandRole::weight, OperandRole::gradient}) {
      const Format& format =
          find_dtype(role == OperandRole::gradient ? "float8_e5m2" : "float8_e4m3fn").format();
      int k = -200;
      while (std::ldexp(amax, k + 1) <= max_finite(format)) ++k;
      k = std::min(k, 126);
      const Tensor y = quantized(quantizer, x, role);
      EXPECT_EQ(y.dtype(), bfloat16);
      for (std::size_t i = 0; i < with_largest.size(); ++i)
        EXPECT_EQ(y.to_vector()[i], nearest(format, x.to_vector()[i], k)) << size << " " << i;
    }
  }
}

TEST(TensorQuantizer, SmallGradientsSurviveWithoutALossScale) {  // fault B18
  const auto quantizer = make_tensor_quantizer(kCurrent, {});
  EXPECT_NEAR(quantized(quantizer, full({4}, 1e-8), OperandRole::gradient).to_vector()[0], 1e-8, 1e-9);
}

TEST(TensorQuantizer, KeepsLongerFormatsInFloat32) {
  const auto quantizer = make_tensor_quantizer({OperandScaling::current, "float16", "e5m9"}, {});
  const Tensor y = quantized(quantizer, full({1}, 1 + 0x1p-10));
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_EQ(y.item(), 1 + 0x1p-10);
}

TEST(TensorQuantizer, WhatIsNotFiniteBecomesNaN) {  // law 5
  for (const Operands& operands : {kCurrent, kDelayed}) {
    const auto quantizer = make_tensor_quantizer(operands, {});
    for (const double bad : {kNan, kInf, -kInf})
      for (const OperandRole role : {OperandRole::activation, OperandRole::gradient}) {
        const std::vector<double> y = quantized(quantizer, from_values({1, bad, -2}), role).to_vector();
        EXPECT_EQ(y[0], 1);
        EXPECT_TRUE(std::isnan(y[1]));
        EXPECT_EQ(y[2], -2);
      }
  }
}

TEST(TensorQuantizer, ReadsStridesAndNothing) {
  const auto quantizer = make_tensor_quantizer(kCurrent, {});
  const Tensor x = random_normal({3, 5}, 1, 1);
  EXPECT_EQ(quantized(quantizer, transpose(x, 0, 1)).to_vector(),
            transpose(quantized(quantizer, x), 0, 1).to_vector());
  EXPECT_EQ(quantized(quantizer, zeros({0, 3})).count(), 0);
  EXPECT_EQ(quantized(quantizer, zeros({3})).to_vector(), (std::vector<double>{0, 0, 0}));
}

struct Delayed {
  Tensor weight = full({2, 2}, 1).set_requires_grad();
  std::shared_ptr<const Quantizer> quantizer = make_tensor_quantizer(kDelayed, {{"w", weight}});
  double see(double x) { return quantized(quantizer, full({1}, x), OperandRole::activation, "w").item(); }
};

TEST(TensorQuantizer, DelayedScalesComeFromTheStepsBefore) {
  Delayed d;
  EXPECT_EQ(d.see(1000), 1024);  // nothing is known yet: as current scaling (1000 of spacing 64)
  EXPECT_EQ(d.see(3), 3);        // still the same step: its own scale
  d.quantizer->finish_step();
  EXPECT_EQ(d.see(3), 3);
  EXPECT_EQ(d.see(5000), 1792);  // 448 * 4: the scale is that of 1000, and what has grown saturates
  d.quantizer->finish_step();
  EXPECT_EQ(d.see(5000), 5120);  // seen in the step before
  EXPECT_EQ(d.see(4.0), 4.0);
  for (int i = 0; i < 16; ++i) {
    EXPECT_GT(d.see(1e4), 7000) << i;  // the 5000 is remembered for sixteen steps
    d.quantizer->finish_step();
  }
}

TEST(TensorQuantizer, DelayedScalesForgetAfterSixteenSteps) {
  Delayed d;
  d.see(448 * 1024.0);
  d.quantizer->finish_step();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(d.see(3), 4) << i;  // subnormals of the scaled format: the spacing is 2^-9 * 2^10 = 2
    d.quantizer->finish_step();
  }
  EXPECT_EQ(d.see(3), 3);
}

TEST(TensorQuantizer, DelayedScalesOfRolesAndLayersAreApart) {
  const Tensor a = full({1, 1}, 1).set_requires_grad(), b = full({1, 1}, 1).set_requires_grad();
  const auto quantizer = make_tensor_quantizer(kDelayed, {{"a", a}, {"b", b}, {"bias", full({1}, 0)}});
  EXPECT_EQ(quantizer->state().size(), 2u);
  const auto see = [&](double x, OperandRole role, std::string_view layer) {
    return quantized(quantizer, full({1}, x), role, layer).item();
  };
  see(448, OperandRole::activation, "a");
  see(1.75 * 0x1p-20, OperandRole::weight, "a");
  see(1.75 * 0x1p10, OperandRole::activation, "b");
  quantizer->finish_step();
  EXPECT_EQ(see(1e9, OperandRole::activation, "a"), 448);
  EXPECT_EQ(see(1e9, OperandRole::weight, "a"), 1.75 * 0x1p-20);
  EXPECT_EQ(see(1e9, OperandRole::activation, "b"), 1.75 * 0x1p10);
  EXPECT_NEAR(see(1e9, OperandRole::activation, "unknown"), 1e9, 1e9 / 16);  // its own scale
}

TEST(TensorQuantizer, EvaluationIsNotRemembered) {
  Delayed d;
  d.see(1);
  d.quantizer->finish_step();
  inference([&] { EXPECT_EQ(d.see(1e6), 448 * 0x1p-8); });
  EXPECT_EQ(d.quantizer->state()[0].value.to_vector()[0], 0);
}

// Counts the gradients that are rounded, and may forbid that products share one.
struct Counting final : OperandQuantizer {
  Counting(const Operands& operands, bool shares)
      : inner(make_tensor_quantizer(operands, {})), shares(shares) {}
  Tensor quantize(const Tensor& x, OperandRole role, Along along, std::string_view layer) const override {
    gradients += role == OperandRole::gradient;
    return inner->quantize(x, role, along, layer);
  }
  bool may_share(OperandRole role) const override { return shares && inner->may_share(role); }

  std::shared_ptr<const Quantizer> inner;
  bool shares;
  mutable int gradients = 0;
};

TEST(TensorQuantizer, BothProductsOfABackwardPassShareARoundedGradient) {
  constexpr Operands kStochastic{OperandScaling::current, "float8_e4m3fn", "float8_e5m2",
                                 Rounding::stochastic};
  for (const Operands& operands : {kCurrent, kStochastic}) {
    const bool is_random = operands.gradient_rounding == Rounding::stochastic;
    std::vector<std::vector<double>> seen;
    for (const bool shares : {false, true}) {
      const ThreadStateScope scope;
      const auto counting = std::make_shared<Counting>(operands, shares);
      thread_state().autocast = bfloat16;
      thread_state().quantizer = counting;
      manual_seed(3);
      const Tensor x = random_normal({6, 5}, 1, 1).set_requires_grad();
      const Tensor weight = random_normal({4, 5}, 1, 2).set_requires_grad();
      const Tensor y = linear(x, weight, {});
      backward(y, random_normal(y.shape(), 1, 3));
      EXPECT_EQ(counting->gradients, shares && !is_random ? 1 : 2);
      seen.push_back(x.grad().to_vector());
      seen.push_back(weight.grad().to_vector());
    }
    EXPECT_EQ(seen[0], seen[2]);
    EXPECT_EQ(seen[1], seen[3]);
  }
}

TEST(TensorQuantizer, HasTheSameBitsOnAnyNumberOfThreads) {  // law 9
  const auto quantizer = make_tensor_quantizer(
      {OperandScaling::current, "float8_e4m3fn", "float8_e5m2", Rounding::stochastic}, {});
  const Tensor x = random_normal({70000}, 1, 1);
  std::vector<std::uint64_t> seen;
  for (const int threads : {1, 2, 5}) {
    const int before = thread_count();
    set_thread_count(threads);
    manual_seed(4);
    seen.push_back(bits(quantized(quantizer, x, OperandRole::gradient)));
    set_thread_count(before);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

}  // namespace
}  // namespace halftone::amp
