// SPDX-License-Identifier: Apache-2.0
//
// Nothing accumulates in a narrow format (law 2): 70000 ones go through every sum there is, in every signed
// format. A running sum in bfloat16 stops at 256, one in float16 at 2048, one in float4 at 4, and 70000
// itself is infinite in float16. Faults D7, D9, D11, D21, E2, E14 and their siblings.
#include <gtest/gtest.h>

#include <cmath>

#include "faults/support.h"
#include "halftone/op.h"
#include "halftone/optim.h"

namespace halftone {
namespace {

constexpr std::int64_t kCount = 70000;

class SeventyThousandOnes : public testing::TestWithParam<DType> {
 protected:
  DType format() const { return GetParam(); }
  Tensor ones_of(const Shape& shape) const { return ones(shape, format()); }
  // Of a matmul or the like, seen before it is rounded into the format.
  template <class F>
  double unrounded(std::string_view op, const F& f) const {
    return amp::override_cast(op, {.result = float32}, f).item();
  }
};

TEST_P(SeventyThousandOnes, AreCountedBySumAndMeanWhateverTheLayout) {
  for (const Shape& shape : {Shape{kCount}, Shape{kCount, 1}, Shape{1, kCount}, Shape{100, 7, 100}}) {
    EXPECT_EQ(sum(ones_of(shape)).item(), kCount) << to_string(shape);
    EXPECT_EQ(mean(ones_of(shape)).item(), 1) << to_string(shape);
  }
  for (const double v : sum(ones_of({kCount, 3}), {0}).to_vector()) EXPECT_EQ(v, kCount);
  for (const double v : mean(transpose(ones_of({3, kCount}), 0, 1), {0}).to_vector()) EXPECT_EQ(v, 1);
}

TEST_P(SeventyThousandOnes, AreCountedByEveryContraction) {
  const Tensor rows = ones_of({1, kCount}), columns = ones_of({kCount, 1});
  EXPECT_EQ(unrounded("matmul", [&] { return matmul(rows, columns); }), kCount);
  EXPECT_EQ(unrounded("linear", [&] { return linear(rows, rows, ones_of({1})); }), kCount + 1);
  const Tensor pixel = ones_of({1, 1, 1, kCount});
  EXPECT_EQ(unrounded("conv2d", [&] { return conv2d(pixel, pixel, ones_of({1})); }), kCount + 1);
  EXPECT_TRUE(same(matmul(rows, columns).item(), stored(kCount, format()))) << "one rounding, at the end";
}

TEST_P(SeventyThousandOnes, AreCountedInEveryGradientOfAContraction) {
  const Tensor x = ones_of({kCount, 1});
  Tensor weight = leaf({1, 1}, 1, format()), bias = leaf({1}, 0, format());
  sum(linear(x, weight, bias)).backward();
  EXPECT_EQ(weight.grad().item(), kCount);
  EXPECT_EQ(bias.grad().item(), kCount);

  Tensor left = leaf({1, 1}, 1, format()), right = leaf({1, 1}, 1, format());
  sum(matmul(left, ones_of({1, kCount}))).backward();
  sum(matmul(x, right)).backward();
  EXPECT_EQ(left.grad().item(), kCount);
  EXPECT_EQ(right.grad().item(), kCount);

  Tensor filter = leaf({1, 1, 1, 1}, 1, format()), channel = leaf({1}, 0, format());
  sum(conv2d(ones_of({1, 250, 280, 1}), filter, channel)).backward();
  EXPECT_EQ(filter.grad().item(), kCount);
  EXPECT_EQ(channel.grad().item(), kCount);
}

TEST_P(SeventyThousandOnes, AreCountedInTheGradientOfEveryOpThatBroadcasts) {
  int ops = 0;
  for (const Op* op : registered_ops()) {
    const Example example = op->examples()[0];
    if (op->cast != CastPolicy::widest || example.inputs.size() != 2 || example.options.has_value()) continue;
    ++ops;
    Tensor few = leaf({1}, 1, format());
    sum(apply(*op, {ones_of({kCount, 1}), few})).backward();
    EXPECT_EQ(std::abs(few.grad().item()), kCount) << op->name;
  }
  EXPECT_GE(ops, 4);
}

TEST_P(SeventyThousandOnes, AreCountedWhereverARowIsUsedAgain) {
  Tensor table = leaf({2, 1}, 1, format());
  sum(embedding(table, zeros({kCount}, int32))).backward();
  EXPECT_EQ(table.grad().to_vector(), (std::vector<double>{kCount, 0}));

  // A tensor with many readers: each of them brings a gradient of 1, here 5000.
  Tensor source = leaf({1}, 1, format());
  const Tensor shared = cast(source, format());
  Tensor total = zeros({1});
  for (int i = 0; i < 5000; ++i) total = total + reshape(shared, {1, 1});
  sum(total).backward();
  EXPECT_EQ(total.item(), 5000);
  EXPECT_TRUE(same(source.grad().item(), stored(5000, format()))) << "one rounding, into the shared tensor";

  Tensor weight = leaf({1}, 1, format());  // and one of 2000 micro-batches
  for (int i = 0; i < 2000; ++i) sum(weight).backward();
  EXPECT_EQ(weight.grad().item(), 2000);
  EXPECT_EQ(weight.grad().dtype(), format() == float64 ? float64 : float32);
}

TEST_P(SeventyThousandOnes, NormStatisticsAreThoseOfTheWholeBatch) {
  // Zeros and ones in turn: mean 1/2, variance 1/4, h = -1 and 1.
  std::vector<double> alternating(kCount);
  for (std::size_t i = 1; i < alternating.size(); i += 2) alternating[i] = 1;
  Tensor weight = leaf({1}, 1), bias = leaf({1}, 0);
  const Tensor running_mean = zeros({1}), running_variance = ones({1});
  const Tensor y = batch_norm(from_values(alternating, {kCount, 1}, format()), weight, bias, running_mean,
                              running_variance, 1, 0);
  EXPECT_EQ(running_mean.item(), 0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(running_variance.item()), 0.25f * kCount / (kCount - 1));
  EXPECT_EQ(slice(y, 0, 0, 2).to_vector(), (std::vector<double>{-1, 1}));
  sum(y).backward();
  EXPECT_EQ(bias.grad().item(), kCount);
  EXPECT_EQ(weight.grad().item(), 0);

  const Tensor one_row = from_values(alternating, {1, kCount}, format());
  EXPECT_EQ(slice(layer_norm(one_row, ones({kCount}), zeros({kCount}), 0), 1, 0, 2).to_vector(),
            (std::vector<double>{-1, 1}));
  Tensor scales = leaf({2}, 1), shifts = leaf({2}, 0);
  sum(layer_norm(from_values(alternating, {kCount / 2, 2}, format()), scales, shifts, 0)).backward();
  EXPECT_EQ(scales.grad().to_vector(), (std::vector<double>{-kCount / 2, kCount / 2}));
  EXPECT_EQ(shifts.grad().to_vector(), (std::vector<double>{kCount / 2, kCount / 2}));
}

TEST_P(SeventyThousandOnes, ShareASoftmaxEqually) {
  const auto share = static_cast<float>(1.0 / kCount);
  EXPECT_FLOAT_EQ(static_cast<float>(softmax(ones_of({kCount})).to_vector().back()), share);
  EXPECT_FLOAT_EQ(static_cast<float>(log_softmax(ones_of({kCount})).to_vector()[0]), std::log(share));
  Tensor logits = leaf({1, kCount}, 1, format());
  const Tensor loss = cross_entropy(logits, zeros({1}, int32));
  EXPECT_FLOAT_EQ(static_cast<float>(loss.item()), -std::log(share));
  loss.backward();
  EXPECT_FLOAT_EQ(static_cast<float>(logits.grad().to_vector().back()), share);
}

TEST_P(SeventyThousandOnes, AreSharedByAttention) {
  // A query that sees 70000 equal keys: adding up shares in bfloat16 would stop at 256 of them.
  Tensor q = leaf({1, 1, 1, 2}, 1, format()), k = leaf({1, 1, kCount, 2}, 1, format()),
         v = leaf({1, 1, kCount, 2}, 1, format());
  const Tensor y = attention(q, k, v);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1, 1}));
  // Shares of a gradient are rounded to the format, unless it is computed in a wider one.
  const double share = 1.0 / kCount;
  if (min_normal(format().format()) > share) return;
  sum(y).backward();
  const double tolerance = share * epsilon(format().format());
  for (const std::size_t i : {std::size_t{0}, std::size_t{2 * kCount - 1}})
    EXPECT_NEAR(v.grad().to_vector()[i], share, tolerance);
}

TEST_P(SeventyThousandOnes, AreAveragedByEveryLoss) {
  const Tensor x = ones_of({kCount, 1}), zero = zeros({kCount, 1}, format());
  const double tolerance = 1e-6;  // of float32 sums
  EXPECT_EQ(mse_loss(x, zero).item(), 1);
  EXPECT_NEAR(binary_cross_entropy_with_logits(zero, x).item(), std::log(2.0), tolerance);
  const Tensor logits = zeros({kCount, 2}, format()), classes = zeros({kCount}, int32);
  EXPECT_NEAR(cross_entropy(logits, classes).item(), std::log(2.0), tolerance);
  const Tensor half = full({kCount}, 0.5), target = ones_of({kCount});
  EXPECT_NEAR(binary_cross_entropy(half, target).item(), std::log(2.0), tolerance);
  EXPECT_EQ(avg_pool2d(ones_of({1, 15, 15, 1}), 15).item(), 1);
}

INSTANTIATE_TEST_SUITE_P(In, SeventyThousandOnes, testing::ValuesIn(signed_formats()), name_of_format);

// Under every recipe, block and tensor scales included: ones are exact in all of their formats but nvfp4,
// whose scales have 4 significant bits and are no powers of two. There 1 is off by up to 1/16, twice.
TEST(EveryRecipe, CountsSeventyThousandOnesInItsGradients) {
  constexpr std::int64_t kRows = kCount / 32 * 32;
  for (const amp::Recipe& recipe : amp::kRecipes) {
    SCOPED_TRACE(recipe.name);
    Tensor weight = leaf({8, 32}, 1), bias = leaf({8}, 0);
    const amp::Casting casting(recipe, {{"weight", weight}, {"bias", bias}});
    sum(amp::autocast(casting, [&] { return linear(ones({kRows, 32}), weight, bias); })).backward();
    const double tolerance = recipe.operands.gradient == "nvfp4" ? kRows / 8 : 0;
    for (const double v : weight.grad().to_vector()) ASSERT_NEAR(v, kRows, tolerance);
    for (const double v : bias.grad().to_vector()) ASSERT_EQ(v, kRows);
  }
}

TEST(EveryRecipe, TakesTheNormOfSeventyThousandOnes) {
  const float norm = std::sqrt(static_cast<float>(kCount));
  for (const amp::Recipe& recipe : amp::kRecipes) {
    SCOPED_TRACE(recipe.name);
    Tensor weight = leaf({kCount}, 0);
    optim::SGD optimizer({{"weight", weight}}, {.lr = 1});
    amp::GradScaler scaler;
    scaler.scale(amp::autocast(amp::Casting(recipe), [&] { return sum(weight); })).backward();
    EXPECT_FLOAT_EQ(scaler.step(optimizer, 1).gradient_norm, norm);
    EXPECT_FLOAT_EQ(static_cast<float>(weight.to_vector()[0]), -1 / norm);
  }
}

}  // namespace
}  // namespace halftone
