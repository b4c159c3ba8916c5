// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/formula.h"
#include "halftone/parallel.h"

namespace halftone::amp {
namespace {

Parameter with_gradient(std::string name, const std::vector<double>& gradient) {
  Tensor w = zeros({static_cast<std::int64_t>(gradient.size())}).set_requires_grad();
  loss_with_gradient(w, gradient).backward();
  return {std::move(name), w};
}

TEST(GradientScan, MultipliesAndSumsSquares) {
  const std::vector<Parameter> parameters{with_gradient("a", {6, 8}), with_gradient("b", {24})};
  const GradientScan scan = scan_gradients(parameters, 0.5f);
  EXPECT_EQ(scan.gradients, 2);
  EXPECT_TRUE(scan.finite);
  EXPECT_EQ(scan.squared_norm, 9 + 16 + 144);
  EXPECT_EQ(scan.culprit, "");
  EXPECT_THAT(parameters[0].value.grad().to_vector(), ::testing::ElementsAre(3, 4));
  EXPECT_THAT(parameters[1].value.grad().to_vector(), ::testing::ElementsAre(12));
}

TEST(GradientScan, FindsTheLargestMagnitude) {
  for (const std::size_t place : {0u, 1u, 15u, 16u, 17u, 1023u, 1024u, 16384u, 20006u})
    for (const double sign : {-1.0, 1.0}) {
      std::vector<double> values(20007, 0.25);
      values[place] = sign * 24;
      const GradientScan scan = scan_gradients(
          std::vector<Parameter>{with_gradient("a", {-2}), with_gradient("w", values)}, 0.5, true);
      EXPECT_EQ(scan.largest, 12) << place;
    }
  EXPECT_EQ(scan_gradients(std::vector<Parameter>{with_gradient("w", {0})}, 1, true).largest, 0);
}

TEST(GradientScan, MultipliesWithOneRoundingWhateverTheDivisor) {
  const std::vector<double> values = random_normal({1000}, 3, 1).to_vector();
  for (const double divisor : {3.0, 7 * 65536.0, 1e6, 0.1}) {
    const std::vector<Parameter> parameters{with_gradient("w", values)};
    scan_gradients(parameters, 1 / divisor);
    const std::vector<double> result = parameters[0].value.grad().to_vector();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(result[i], static_cast<float>(values[i] / divisor));
  }
}

TEST(GradientScan, ClipsValuesAndLeavesNaN) {
  const std::vector<Parameter> parameters{with_gradient("a", {-3, -0.5, 0, 0.5, 3}),
                                          with_gradient("b", {kInf, -kInf, kNan})};
  clip_values(parameters, 1);
  EXPECT_THAT(parameters[0].value.grad().to_vector(), ::testing::ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(parameters[1].value.grad().to_vector(), ::testing::ElementsAre(1, -1, ::testing::IsNan()));
  for (const double bad : {0.0, -1.0, kInf, kNan, 1e-60})
    EXPECT_THROW(clip_values(parameters, bad), ValueError);
}

TEST(GradientScan, SkipsParametersWithoutAGradient) {
  Tensor untouched = leaf({1});
  const GradientScan scan = scan_gradients(std::vector<Parameter>{{"a", untouched}}, 1);
  EXPECT_EQ(scan.gradients, 0);
  EXPECT_TRUE(scan.finite);
  EXPECT_FALSE(untouched.grad().defined());
}

TEST(GradientScan, TestsTheValueAfterUnscaling) {  // fault A2: 0 * inf is NaN, 1e-3 * inf is inf
  const std::vector<Parameter> parameters{with_gradient("w", {0, 1e-3})};
  const GradientScan scan = scan_gradients(parameters, INFINITY);
  EXPECT_FALSE(scan.finite);
  EXPECT_EQ(scan.culprit, "w: 1 inf, 1 NaN of 2");
}

TEST(GradientScan, FindsAFiniteGradientThatOverflowsWhenMultiplied) {
  EXPECT_FALSE(scan_gradients(std::vector<Parameter>{with_gradient("w", {1e38})}, 100).finite);
}

TEST(GradientScan,
     LargeFiniteGradientsAreFinite) {  // fault E11: their float32 sum, and sum of squares, is not
  const GradientScan scan = scan_gradients(std::vector<Parameter>{with_gradient("w", {3e38, 3e38})}, 1);
  EXPECT_TRUE(scan.finite);
  EXPECT_NEAR(std::sqrt(scan.squared_norm) / (std::sqrt(2.0) * 3e38), 1, 1e-6);
}

TEST(GradientScan, OneBadElementIsFoundAtEveryPlace) {
  for (const double bad : {kInf, -kInf, kNan})
    for (const std::size_t place : {0u, 1u, 14u, 15u, 16u, 17u, 16383u, 16384u, 16390u, 20006u}) {
      std::vector<double> values(20007, 1.0);
      values[place] = bad;
      const GradientScan scan = scan_gradients(std::vector<Parameter>{with_gradient("w", values)}, 1);
      EXPECT_FALSE(scan.finite) << place;
      EXPECT_EQ(scan.culprit, std::isnan(bad) ? "w: 0 inf, 1 NaN of 20007" : "w: 1 inf, 0 NaN of 20007");
    }
}

TEST(GradientScan, NamesTheFirstCulprit) {
  const std::vector<Parameter> parameters{with_gradient("good", {1}),
                                          with_gradient("first", {kInf, kInf, kNan}),
                                          with_gradient("second", {kNan})};
  EXPECT_EQ(scan_gradients(parameters, 1).culprit, "first: 2 inf, 1 NaN of 3");
}

TEST(GradientScan, AGradientOfAnotherFormatIsNamedBeforeAnyIsTouched) {  // fault B10
  Tensor wide = leaf({1}, float64);
  sum(wide).backward();
  const std::vector<Parameter> parameters{with_gradient("narrow", {8}), {"layer.wide", wide}};
  EXPECT_THROW(scan_gradients(parameters, 0.5f), DTypeError);
  EXPECT_THAT(message_of([&] { scan_gradients(parameters, 0.5f); }), ::testing::HasSubstr("layer.wide"));
  EXPECT_EQ(parameters[0].value.grad().item(), 8);
}

TEST(GradientScan, HasTheSameBitsOnAnyNumberOfThreadsAndAtEverySimdLevel) {
  const Tensor values = random_normal({100003}, 7, 1);
  double norm = 0;
  std::optional<std::uint64_t> expected;
  for (const int threads : {1, 2})
    for (int level = 0; level <= static_cast<int>(best_simd_level()); ++level) {
      set_thread_count(threads);
      set_simd_level(static_cast<SimdLevel>(level));
      const std::vector<Parameter> parameters{with_gradient("w", values.to_vector())};
      const GradientScan scan = scan_gradients(parameters, 0.3f);
      if (!expected) {
        norm = scan.squared_norm;
        expected = bits(parameters[0].value.grad());
      }
      EXPECT_EQ(scan.squared_norm, norm);
      EXPECT_EQ(bits(parameters[0].value.grad()), expected);
    }
  set_simd_level(best_simd_level());
  double direct = 0;
  for (const double value : values.to_vector()) direct += value * value * 0.3 * 0.3;
  EXPECT_NEAR(norm / direct, 1, 1e-6);
}

}  // namespace
}  // namespace halftone::amp
