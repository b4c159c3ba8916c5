// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/amp.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "halftone/scalar.h"

namespace halftone {
namespace {

TEST(Apply, TheResidualStreamStaysFloat32WhileMatmulsRunNarrow) {
  const Tensor x = ones({2, 4}), w = ones({4, 4}).set_requires_grad();
  amp::autocast(bfloat16, [&] {
    const Tensor y = matmul(x, w);
    EXPECT_EQ(y.dtype(), bfloat16);
    EXPECT_EQ(add(x, y).dtype(), float32);
    EXPECT_EQ(softmax(y).dtype(), float32);
    EXPECT_EQ(gelu(x).dtype(), bfloat16);
    EXPECT_EQ(relu(x).dtype(), float32);
  });
}

TEST(Apply, AnOpMayStateTheFormatOfItsResult) {
  const Tensor x = ones({1, 2}), w = ones({3, 2}), target = zeros({1}, int32);
  amp::autocast(bfloat16, [&] {
    EXPECT_EQ(linear_cross_entropy(x, w, target).dtype(), float32);
    EXPECT_EQ(linear_cross_entropy(cast(x, float64), w, target).dtype(), float64);
    amp::override_cast("linear_cross_entropy", {.result = float16},
                       [&] { EXPECT_EQ(linear_cross_entropy(x, w, target).dtype(), float16); });
  });
}

TEST(Apply, Float16WithBfloat16IsFloat32) {
  const Tensor a = ones({1}, float16), b = full({1}, 2, bfloat16);
  EXPECT_EQ(add(a, b).dtype(), float32);
  amp::autocast(bfloat16, [&] { EXPECT_EQ(add(a, b).dtype(), float32); });
  EXPECT_EQ(add(a, b).item(), 3);
}

TEST(Apply, Float64IsNeverCastDownAndIntegersNever) {
  const Tensor a = full({2, 2}, 0.1, float64);
  amp::autocast(float16, [&] {
    EXPECT_EQ(matmul(a, a).dtype(), float64);
    EXPECT_EQ(matmul(a, a).to_vector()[0], 0.1 * 0.1 + 0.1 * 0.1);
    EXPECT_EQ(reshape(from_values({70001, 3}, int32), {2, 1}).to_vector()[0], 70001);
  });
}

TEST(Apply, AnUndefinedFirstOperandIsAnError) { EXPECT_THROW(relu(Tensor()), ValueError); }

TEST(Apply, BiasIsAddedBeforeTheOneRounding) {
  // 256 + 1 = 257 is a tie of bfloat16; 257.25, with the bias in the accumulator, lies above it.
  const Tensor x = from_values(std::vector<double>{256, 1}, {1, 2}), w = ones({1, 2}),
               b = from_values({0.25});
  const Tensor y = amp::autocast(bfloat16, [&] { return linear(x, w, b); });
  EXPECT_EQ(y.item(), 258);
}

TEST(Apply, ReductionsOfNarrowTensorsAreExact) {
  for (const DType dtype : {bfloat16, float16, float8_e4m3fn, float8_e5m2}) {
    EXPECT_EQ(sum(ones({1000}, dtype)).item(), 1000) << dtype.name();
    EXPECT_EQ(sum(ones({70000}, dtype)).item(), 70000) << dtype.name();
    EXPECT_EQ(mean(ones({70000}, dtype)).item(), 1) << dtype.name();
  }
  EXPECT_EQ(softmax(zeros({512}, bfloat16)).to_vector()[0], 0.001953125);
}

TEST(Apply, NormsSquareInFloat32) {
  const Tensor one = ones({2}), none = zeros({2});
  const Tensor y = layer_norm(from_values(std::vector<double>{300, -300}, {1, 2}, float16), one, none);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1, -1})) << "300^2 is infinite in float16";
}

TEST(Apply, MaskedSoftmaxRowsAreDefined) {
  EXPECT_EQ(softmax(from_values(std::vector<double>{1, -1e9}, {1, 2}, float16)).to_vector(),
            (std::vector<double>{1, 0}));
  const Tensor x = full({1, 2}, -INFINITY).set_requires_grad();
  const Tensor y = softmax(x);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{0, 0}));
  sum(mul(y, y)).backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{0, 0}));
}

TEST(Apply, EmbeddingGradientsAddUpInFloat32) {
  const Tensor table = zeros({1, 1}, bfloat16).set_requires_grad();
  sum(embedding(table, zeros({1000}, int32))).backward();
  EXPECT_EQ(table.grad().item(), 1000);
}

// A float16 sum would stop half-way (Wang et al. 2018), so autocast keeps softmax in float32.
TEST(Apply, SoftmaxAddsUpMoreThanFloat16Can) {
  const float16_t share(1.0f / 4096);
  float16_t total(0.0f);
  for (int i = 0; i < 4096; ++i) total += share;
  EXPECT_EQ(static_cast<float>(total), 0.5f);
  const Tensor x = zeros({1, 4096}, float16);
  EXPECT_EQ(sum(amp::autocast(float16, [&] { return softmax(x); })).item(), 1);
}

TEST(Apply, CrossEntropyDefinesItsCorners) {
  const Tensor logits = zeros({2, 3}).set_requires_grad();
  const Tensor loss = cross_entropy(logits, from_values({-100, -100}, int32));
  EXPECT_EQ(loss.item(), 0);
  loss.backward();
  EXPECT_EQ(logits.grad().to_vector(), std::vector<double>(6, 0));
  EXPECT_THROW(cross_entropy(logits, from_values({0, 3}, int32)), ValueError);
  EXPECT_THROW(cross_entropy(logits, from_values({0, -1}, int32)), ValueError);
  EXPECT_THROW(cross_entropy(logits, from_values({0, 1})), DTypeError);
  EXPECT_THROW(cross_entropy(logits, from_values({0}, int32)), ShapeError);
  EXPECT_NEAR(cross_entropy(logits, from_values({0, -100}, int32)).item(), std::log(3.0), 1e-7)
      << "ignored rows do not count";
}

TEST(Apply, ProbabilityLossesRefuseNarrowInputAndWorkInFloat32) {
  const Tensor t = ones({1});
  EXPECT_THROW(binary_cross_entropy(full({1}, 0.5, float16), t), DTypeError);
  const Tensor p = full({1}, 1e-5).set_requires_grad();
  amp::autocast(float16, [&] { return binary_cross_entropy(p, t); }).backward();
  EXPECT_NEAR(p.grad().item(), -1e5, 1);
}

TEST(Apply, AMaskOfAnyKindMayBeDropoutsIdentity) {
  const Tensor x = ones({4});
  EXPECT_EQ(inference([&] { return dropout(x, 0.5); }).to_vector(), x.to_vector());
  EXPECT_THROW(dropout(x, 1), ValueError);
  EXPECT_THROW(dropout(x, NAN), ValueError);
}

TEST(Apply, IntegersGiveFractionsWhereThePolicyIsToComputeInFloat32) {
  const Tensor x = from_values({1, 2}, int32);
  EXPECT_EQ(mean(x).item(), 1.5);
  EXPECT_EQ(sum(ones({1000}, uint8)).item(), 1000) << "255 is the largest uint8";
  EXPECT_EQ(mse_loss(x, from_values({1, 3}, int32)).item(), 0.5);
  for (const Tensor& y : {exp(x), softmax(x), gelu(x), amp::autocast(bfloat16, [&] { return sigmoid(x); })})
    EXPECT_EQ(y.dtype(), float32);
  const Tensor rows = from_values(std::vector<double>{300, -300}, {1, 2}, int32);
  const Tensor y = layer_norm(rows, ones({2}), zeros({2}));
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_NEAR(y.to_vector()[0], 1, 1e-6);
  const Tensor loss = linear_cross_entropy(ones({1, 2}, int32), ones({3, 2}, int32), zeros({1}, int32));
  EXPECT_EQ(loss.dtype(), float32) << "which the op states";
  EXPECT_NEAR(loss.item(), std::log(3.0), 1e-6);
}

TEST(Apply, AmongIntegersTheResultHoldsWhatAllHold) {
  const Tensor bytes = from_values({255}, uint8), words = from_values({1000}, int32);
  EXPECT_EQ(concat({bytes, words}).to_vector(), (std::vector<double>{255, 1000}));
  EXPECT_EQ(add(bytes, words).item(), 1255);
  EXPECT_EQ(add(words, ones({1}, int64)).dtype(), int64);
  EXPECT_EQ(relu(words).dtype(), int32);
  EXPECT_EQ(where(words, bytes, bytes).dtype(), uint8) << "a condition is no operand";
  EXPECT_EQ(add(words, ones({1}, float16)).dtype(), float16) << "beside floating ones they have no say";
}

TEST(Apply, AnOpThatReturnsItsOperandLeavesItAlone) {
  const Op same{.name = "same",
                .cast = CastPolicy::keep,
                .keeps = {},
                .forward = [](Call& call) { return call.inputs[0]; },
                .backward = [](BackwardCall& call) { call.gradients.deliver(0, call.gradient); },
                .examples = {}};
  const Tensor x = from_values({3}).set_requires_grad(), constant = ones({1});
  const Tensor y = apply(same, {x});
  mul(y, y).backward();
  EXPECT_EQ(x.grad().item(), 6) << "still a leaf";
  apply(same, {constant, x});
  EXPECT_FALSE(constant.requires_grad());
  EXPECT_FALSE(no_grad([&] { return apply(same, {x}); }).requires_grad());
}

}  // namespace
}  // namespace halftone
