// SPDX-License-Identifier: Apache-2.0
//
// That logits are right is in tests/train/weights_test.cpp, against transformers.
#include "halftone/llama.h"

#include <gmock/gmock.h>

#include "nn/model_checks.h"

namespace halftone::models {
namespace {

using namespace halftone::testing;

LlamaOptions tiny() {
  return {.vocabulary = 7, .context = 6, .width = 8, .layers = 2, .heads = 4, .kv_heads = 2};
}

Tensor loss_of(const Llama& model) {
  return model.loss(random_tokens({2, 5}, 7, 1), random_tokens({2, 5}, 7, 2));
}

// Touvron et al. 2023, table 2: "6.7B"; TinyLlama (Zhang et al. 2024) has grouped heads, 1.1B. Sizes in
// proportion keep the test small: counts are polynomials of the options, checked term by term.
TEST(Llama, HasAsManyParametersAsItsFormula) {
  for (const bool tied : {false, true})
    for (const int kv_heads : {1, 2, 4}) {
      LlamaOptions o = tiny();
      o.tied = tied, o.kv_heads = kv_heads, o.intermediate = 13, o.head_width = 6, o.layers = 3;
      const int attention = 8 * 6 * (4 + 2 * kv_heads + 4), mlp = 3 * 8 * 13, norms = 2 * 8;
      EXPECT_EQ(count_of(Llama(o)), 7 * 8 * (tied ? 1 : 2) + 3 * (attention + mlp + norms) + 8);
    }
  // Llama 7B: 6,738,415,616, from a vocabulary of 1 and the parts of one layer.
  const auto count = [](std::int64_t v, std::int64_t w, std::int64_t i, std::int64_t n) {
    return 2 * v * w + n * (4 * w * w + 3 * w * i + 2 * w) + w;
  };
  EXPECT_EQ(count(32000, 4096, 11008, 32), 6738415616);
  LlamaOptions o = tiny();
  o.kv_heads = 0, o.intermediate = 24;
  EXPECT_EQ(count_of(Llama(o)), count(7, 8, 24, 2));
}

TEST(Llama, ZerosStandForWhatIsUsual) {
  const LlamaOptions o = LlamaOptions{.width = 384, .heads = 6}.filled();
  EXPECT_EQ(o.kv_heads, 6);
  EXPECT_EQ(o.head_width, 64);
  EXPECT_EQ(o.intermediate, 1024);
  EXPECT_EQ((LlamaOptions{.width = 4096, .heads = 32}.filled().intermediate), 10944);
}

TEST(Llama, GradientsAgreeWithFiniteDifferences) {
  for (const bool tied : {false, true}) {
    manual_seed(1);
    LlamaOptions options = tiny();
    options.tied = tied;
    Llama model(options);
    expect_gradients(model, [&] { return loss_of(model); });
  }
}

TEST(Llama, CheckpointedBlocksGiveTheSameBits) {
  std::vector<double> results[2];
  for (const bool checkpoint : {false, true}) {
    manual_seed(1);
    LlamaOptions options = tiny();
    options.checkpoint = checkpoint;
    Llama model(options);
    results[checkpoint] = bits_of_step<Llama>(model, loss_of);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Llama, OptionsAndTokensAreChecked) {
  const auto refused = [](auto change) {
    LlamaOptions options = tiny();
    change(options);
    EXPECT_THROW(Llama{options}, ValueError);
  };
  refused([](LlamaOptions& o) { o.kv_heads = 3; });
  refused([](LlamaOptions& o) { o.heads = 3; });
  refused([](LlamaOptions& o) { o.head_width = 3; });
  refused([](LlamaOptions& o) { o.heads = 8; });  // heads of width 1
  refused([](LlamaOptions& o) { o.rope_theta = 0; });
  refused([](LlamaOptions& o) { o.rope_scaling.factor = 0; });
  refused([](LlamaOptions& o) { o.rope_scaling.low_frequency = 4; });
  refused([](LlamaOptions& o) { o.context = -1; });
  EXPECT_THROW(Llama{tiny()}(random_tokens({1, 7}, 7)), ShapeError);
}

}  // namespace
}  // namespace halftone::models
