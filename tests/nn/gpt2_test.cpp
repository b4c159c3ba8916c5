// SPDX-License-Identifier: Apache-2.0
//
// That logits are right is in tests/train/weights_test.cpp, against transformers.
#include "halftone/gpt2.h"

#include <gmock/gmock.h>

#include "nn/model_checks.h"

namespace halftone::models {
namespace {

using namespace halftone::testing;

constexpr Gpt2Options kTiny{.vocabulary = 7, .context = 6, .width = 8, .layers = 2, .heads = 2};

Tensor loss_of(const Gpt2& model) {
  return model.loss(random_tokens({2, 5}, 7, 1), random_tokens({2, 5}, 7, 2));
}

TEST(Gpt2, SmallHasAsManyParametersAsPublished) {
  const auto count = [](int layers) {
    return count_of(Gpt2({.vocabulary = 1, .context = 1024, .width = 768, .layers = layers, .heads = 12}));
  };
  EXPECT_EQ(count_of_layers(12, count) + std::int64_t{50256} * 768, 124439808);
}

TEST(Gpt2, GradientsAgreeWithFiniteDifferences) {
  manual_seed(1);
  Gpt2 model(kTiny);
  expect_gradients(model, [&] { return loss_of(model); });
}

TEST(Gpt2, CheckpointedBlocksGiveTheSameBits) {
  Gpt2Options options = kTiny;
  options.dropout = 0.3, options.attention_dropout = 0.2;
  std::vector<double> results[2];
  for (const bool checkpoint : {false, true}) {
    manual_seed(1);
    options.checkpoint = checkpoint;
    Gpt2 model(options);
    results[checkpoint] = bits_of_step<Gpt2>(model, loss_of);
  }
  EXPECT_EQ(results[0], results[1]);
  manual_seed(1);
  options.dropout = 0;
  Gpt2 model(options);
  const double loss = bits_of_step<Gpt2>(model, loss_of)[0];
  EXPECT_NE(loss, results[0][0]);  // something was dropped, of attention, too
  options.attention_dropout = 0;
  manual_seed(1);
  Gpt2 whole(options);
  EXPECT_NE(bits_of_step<Gpt2>(whole, loss_of)[0], loss);
}

TEST(Gpt2, WhatEntersTheResidualStreamBeginsSmaller) {
  manual_seed(1);
  const Gpt2 model({.vocabulary = 8, .context = 8, .width = 64, .layers = 8, .heads = 2});
  const auto deviation = [](const Tensor& weight) {
    double square = 0;
    for (const double v : weight.to_vector()) square += v * v;
    return std::sqrt(square / static_cast<double>(weight.count()));
  };
  EXPECT_NEAR(deviation(model.h[3].mlp.c_fc.weight), 0.02, 1e-3);
  EXPECT_NEAR(deviation(model.h[3].attn.c_attn.weight), 0.02, 1e-3);
  EXPECT_NEAR(deviation(model.h[3].mlp.c_proj.weight), 0.005, 3e-4);
  EXPECT_NEAR(deviation(model.h[3].attn.c_proj.weight), 0.005, 3e-4);
  EXPECT_EQ(deviation(model.h[3].attn.c_proj.bias), 0);
}

TEST(Gpt2, OptionsAndTokensAreChecked) {
  EXPECT_THROW(Gpt2({.vocabulary = 0}), ValueError);
  EXPECT_THROW(Gpt2({.width = 10, .heads = 3}), ValueError);
  EXPECT_THROW(Gpt2({.layers = 0}), ValueError);
  EXPECT_THROW(Gpt2({.dropout = 1}), ValueError);
  EXPECT_THROW(Gpt2({.attention_dropout = -0.5}), ValueError);
  EXPECT_THROW(Gpt2({.epsilon = 0}), ValueError);
  const Gpt2 model(kTiny);
  EXPECT_THROW(model(random_tokens({1, 7}, 7)), ShapeError);
  EXPECT_THROW(model(random_tokens({6}, 7)), ShapeError);
  EXPECT_THROW(model(Tensor()), ShapeError);
}

}  // namespace
}  // namespace halftone::models
