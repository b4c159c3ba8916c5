// SPDX-License-Identifier: Apache-2.0
//
// A penalty on a gradient (Gulrajani et al., "Improved training of Wasserstein GANs", 2017) under loss
// scaling: the inner gradient is taken of the scaled loss, so that nothing in it vanishes, and divided by the
// scale before it is used; the sum of loss and penalty is scaled as a whole.
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/amp.h"
#include "halftone/nn.h"
#include "halftone/ops.h"
#include "halftone/optim.h"

namespace halftone::amp {
namespace {

Tensor unscaled_gradient(GradScaler& scaler, const Tensor& loss, const Tensor& of) {
  const Tensor scaled = gradients(scaler.scale(loss), {of}, {.create_graph = true})[0];
  return scale(scaled, 1 / static_cast<double>(scaler.state().scale));
}

// B15: loss 3 w. At scale 65536 the gradient of the float16 product is 65536, one beyond the range.
TEST(GradientPenalty, AnOverflowOfTheInnerGradientSkipsTheStepAndTheNextTryWorks) {
  const Tensor w = full({1, 1}, 0.5).set_requires_grad();
  optim::SGD optimizer({{"w", w}}, {.lr = 0.125});
  GradScaler scaler({.init_scale = 65536});
  Tensor inner;
  auto step = [&] {
    optimizer.zero_grad();
    const Tensor total = autocast(float16, [&] {
      const Tensor loss = sum(matmul(full({1, 1}, 3), w));
      inner = unscaled_gradient(scaler, loss, w);
      const Tensor penalty = sum(inner * inner) * sum(w);  // 9 w: the gradient of the penalty is 9
      return loss + penalty;
    });
    scaler.scale(total).backward();
    const StepResult result = scaler.step(optimizer);
    scaler.update();
    return result;
  };
  EXPECT_EQ(step().outcome, StepOutcome::skipped_overflow);
  EXPECT_FALSE(std::isfinite(inner.item()));
  EXPECT_EQ(w.item(), 0.5);
  EXPECT_EQ(scaler.state().scale, 32768);
  const StepResult second = step();
  EXPECT_EQ(second.outcome, StepOutcome::applied);
  EXPECT_EQ(inner.item(), 3);
  EXPECT_EQ(second.gradient_norm, 12);  // 3 + 9
  EXPECT_EQ(w.item(), 0.5 - 0.125 * 12);
}

// What the penalty is for: the gradient by the input, of a small critic, in every format to compute in. The
// oracle is the same in float64, differentiated numerically.
TEST(GradientPenalty, OfACriticAgreesWithFloat64) {
  const Tensor x = random_normal({6, 4}, 1, 1);
  auto parameters = [](DType dtype) {
    std::vector<Tensor> made;
    for (std::uint64_t i = 0; i < 2; ++i)
      made.push_back(
          cast(random_normal(i == 0 ? Shape{8, 4} : Shape{1, 8}, 2, i, float64), dtype).set_requires_grad());
    return made;
  };
  auto penalty = [&](const std::vector<Tensor>& w, GradScaler* scaler) {
    Tensor input = cast(x, w[0].dtype()).detach();
    input.set_requires_grad();
    const Tensor score = sum(linear(tanh(linear(input, w[0])), w[1]));
    const Tensor g = scaler ? unscaled_gradient(*scaler, score, input)
                            : gradients(score, {input}, {.create_graph = true})[0];
    const Tensor norm = exp(scale(log(sum(g * g, {1})), 0.5));
    const Tensor excess = norm - full({}, 1, norm.dtype());
    return mean(excess * excess);
  };
  const std::vector<Tensor> exact = parameters(float64);
  const GradcheckResult numeric =
      gradcheck([&](const std::vector<Tensor>& w) { return penalty(w, nullptr); }, exact);
  EXPECT_LT(numeric.worst, 1e-7) << numeric.where;
  for (const DType compute : {float32, bfloat16, float16}) {
    GradScaler scaler({.init_scale = 1024, .enabled = compute == float16});
    const std::vector<Tensor> w = parameters(float32);
    const Tensor value = autocast(compute, [&] { return penalty(w, &scaler); });
    scaler.scale(value).backward();
    const double tolerance = 8 * epsilon(compute.format());
    for (std::size_t i = 0; i < w.size(); ++i) {
      const auto found = w[i].grad().to_vector(), expected = exact[i].grad().to_vector();
      EXPECT_EQ(w[i].grad().dtype(), float32);
      double largest = 0;
      for (const double g : expected) largest = std::max(largest, std::abs(g));
      for (std::size_t k = 0; k < found.size(); ++k)
        EXPECT_NEAR(found[k] / scaler.state().scale, expected[k], tolerance * largest) << compute.name();
    }
  }
}

// Under every recipe the gradient that is penalised is the one that backward would give, rounded to the short
// formats in the same places, and the penalty has a gradient.
TEST(GradientPenalty, PenalisesTheGradientOfTheRecipe) {
  for (const Recipe& recipe : kRecipes) {
    SCOPED_TRACE(recipe.name);
    manual_seed(1);
    const nn::Conv2d conv(3, 4, 3, 1, 1);
    const nn::Linear dense(64, 32);
    const Casting casting(recipe);
    const std::vector<Tensor> leaves = {random_normal({8, 4, 4, 3}, 1, 1).set_requires_grad(), conv.weight,
                                        conv.bias, dense.weight, dense.bias};
    auto loss = [&] {
      return autocast(casting, [&] {
        const Tensor y = tanh(dense(flatten(relu(conv(leaves[0])))));
        return sum(y * y);
      });
    };
    manual_seed(2);
    loss().backward();
    manual_seed(2);
    const std::vector<Tensor> found = gradients(loss(), leaves, {.create_graph = true});
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto expected = leaves[i].grad().to_vector(), values = found[i].to_vector();
      double largest = 0;
      for (const double g : expected) largest = std::max(largest, std::abs(g));
      EXPECT_GT(largest, 0);
      for (std::size_t k = 0; k < values.size(); ++k)
        ASSERT_NEAR(values[k], expected[k], 1e-5 * largest) << "gradient " << i << ", element " << k;
    }
    Tensor weight = dense.weight;
    weight.zero_grad();
    sum(found[0] * found[0]).backward();
    for (const double g : weight.grad().to_vector()) ASSERT_TRUE(std::isfinite(g));
  }
}

// The search for where a NaN came from takes inner gradients, too.
TEST(GradientPenalty, ALossThatIsNotFiniteIsSkippedAndAttributed) {
  const Tensor w = ones({3}).set_requires_grad();
  optim::SGD optimizer({{"w", w}}, {.lr = 0.125});
  Step step(optimizer, find_recipe("float32"), {}, {}, {.max_skips_in_a_row = 2});
  const auto loss = [&](double second) {
    return [&, second](int) {
      const Tensor x = from_values({1, second, 1}).set_requires_grad();
      const Tensor y = sum(w * x), g = gradients(y, {x}, {.create_graph = true})[0];
      return y + sum(g * g);
    };
  };
  EXPECT_TRUE(step(loss(1)).applied());
  const StepResult result = step(loss(NAN));
  EXPECT_EQ(result.outcome, StepOutcome::loss_not_finite);
  EXPECT_EQ(step.scaler().state().skips, 1);
  EXPECT_NE(result.culprit.find("first seen in mul"), std::string::npos) << result.culprit;
  EXPECT_THROW(step(loss(NAN)), NonFiniteError);
}

// Without the scale, an inner gradient of 1e-8 is nothing in float16.
TEST(GradientPenalty, SmallInnerGradientsSurviveInTheScaledLoss) {
  const Tensor x = ones({1, 1}).set_requires_grad(), w = ones({1, 1});
  auto inner = [&](double scale_by) {
    GradScaler scaler({.init_scale = scale_by});
    return autocast(float16, [&] {
      return unscaled_gradient(scaler, scale(cast(sum(matmul(x, w)), float32), 1e-8), x).item();
    });
  };
  EXPECT_EQ(inner(1), 0);
  EXPECT_NEAR(inner(65536), 1e-8, 1e-11);
}

}  // namespace
}  // namespace halftone::amp
