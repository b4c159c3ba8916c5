// SPDX-License-Identifier: Apache-2.0
//
// A tiny model of every kind learns a batch by heart under every recipe, and checkpoints do not change a bit
// of that.
#include <gtest/gtest.h>

#include <ostream>

#include "halftone/amp.h"
#include "halftone/models.h"
#include "halftone/optim.h"
#include "nn/model_checks.h"

namespace halftone::amp {
void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.name; }
}  // namespace halftone::amp

namespace halftone::models {
namespace {

using halftone::testing::random_tokens;

struct ModelsTrain : ::testing::TestWithParam<amp::Recipe> {
  // Losses of some steps on one batch.
  template <class Model>
  std::vector<double> train(Model model, const std::function<Tensor(const Model&)>& loss, int steps = 12) {
    const amp::Recipe& recipe = GetParam();
    nn::to(model, recipe.parameter);
    const auto optimizer = optim::make_optimizer("adamw", nn::parameters(model), recipe, {{"lr", 1e-2}});
    amp::Step step(*optimizer, recipe, nn::buffers(model), {}, {.init_scale = 1024});
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) {
      step([&](int) { return loss(model); });
      losses.push_back(step.loss());
    }
    EXPECT_LT(losses.back(), 0.8 * losses.front()) << ::testing::PrintToString(losses);
    return losses;
  }
};

const Tensor kTokens = random_tokens({4, 8}, 11, 1), kTargets = random_tokens({4, 8}, 11, 2);

TEST_P(ModelsTrain, Gpt2) {
  std::vector<double> losses[2];
  for (const bool checkpoint : {false, true}) {
    manual_seed(1);
    Gpt2Options options{.vocabulary = 11, .context = 8, .width = 32, .layers = 2, .heads = 2};
    options.dropout = 0.05, options.attention_dropout = 0.05, options.checkpoint = checkpoint;
    losses[checkpoint] = train<Gpt2>(Gpt2(options), [](const Gpt2& m) { return m.loss(kTokens, kTargets); });
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_P(ModelsTrain, Llama) {
  std::vector<double> losses[2];
  for (const bool checkpoint : {false, true}) {
    manual_seed(1);
    LlamaOptions options{.vocabulary = 11, .context = 8, .width = 32, .layers = 2, .heads = 4, .kv_heads = 2};
    options.checkpoint = checkpoint;
    losses[checkpoint] =
        train<Llama>(Llama(options), [](const Llama& m) { return m.loss(kTokens, kTargets); });
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_P(ModelsTrain, Bert) {
  std::vector<double> losses[2];
  for (const bool checkpoint : {false, true}) {
    manual_seed(1);
    BertOptions options{.vocabulary = 11, .context = 8, .width = 32, .layers = 2, .heads = 2};
    options.dropout = 0.05, options.attention_dropout = 0.05, options.checkpoint = checkpoint;
    losses[checkpoint] = train<Bert>(Bert(options), [](const Bert& m) {
      return m.loss({kTokens, from_values({8, 5, 8, 1}, int32)}, kTargets);
    });
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_P(ModelsTrain, ResNet) {
  manual_seed(1);
  const Tensor images = random_normal({8, 8, 8, 1}, 1, 1), classes = random_tokens({8}, 3);
  train<ResNet>(ResNet({.depth = 8, .channels = 1, .classes = 3, .width = 8}),
                [&](const ResNet& m) { return cross_entropy(m(images), classes); });
}

INSTANTIATE_TEST_SUITE_P(Table, ModelsTrain, ::testing::ValuesIn(amp::kRecipes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace halftone::models
