// SPDX-License-Identifier: Apache-2.0
//
// That logits are right is in tests/train/weights_test.cpp, against transformers.
#include "halftone/bert.h"

#include <gmock/gmock.h>

#include "nn/model_checks.h"

namespace halftone::models {
namespace {

using namespace halftone::testing;

BertOptions tiny(BertHead head = BertHead::masked_tokens) {
  BertOptions o{.vocabulary = 7, .context = 6, .width = 8, .layers = 2, .heads = 2, .intermediate = 12};
  o.head = head, o.dropout = 0, o.attention_dropout = 0;
  return o;
}

const Tensor kTokens = random_tokens({2, 5}, 7, 1);
const Tensor kLengths = from_values({5, 3}, int32);
// Three tokens of ten are masked.
const Tensor kTargets =
    from_values(std::vector<double>{-100, 3, -100, -100, 0, -100, -100, 6, -100, -100}, {2, 5}, int32);

Tensor loss_of(const Bert& model) { return model.loss({kTokens, kLengths}, kTargets); }

TEST(Bert, BaseHasAsManyParametersAsPublished) {
  const auto count = [](int layers) {
    BertOptions o{.vocabulary = 1, .layers = layers};
    o.head = BertHead::pooler;
    return count_of(Bert(o));
  };
  EXPECT_EQ(count_of_layers(12, count) + std::int64_t{30521} * 768, 109482240);
}

TEST(Bert, GradientsAgreeWithFiniteDifferences) {
  manual_seed(1);
  Bert masked(tiny());
  expect_gradients(masked, [&] { return loss_of(masked); });
  Bert classes(tiny(BertHead::classes));
  expect_gradients(classes, [&] {
    const Tensor types = from_values(std::vector<double>{0, 0, 1, 1, 1, 0, 1, 1, 1, 1}, {2, 5}, int32);
    const Tensor hidden = classes.hidden({kTokens, kLengths, types});
    return cross_entropy(classes.class_logits(hidden), from_values({1, 0}, int32)) + sum(hidden) * 0.01;
  });
}

TEST(Bert, TheLossIsThatOfAllLogits) {
  manual_seed(1);
  Bert model(tiny());
  const Tensor logits = model.masked_logits(model.hidden({kTokens, kLengths}));
  EXPECT_EQ(logits.shape(), (Shape{2, 5, 7}));
  EXPECT_NEAR(loss_of(model).item(), cross_entropy(logits, kTargets).item(), 1e-6);
  const Tensor longer = concat({kTargets, kTargets}, 1);
  EXPECT_EQ(model.loss({kTokens, kLengths}, slice(longer, 1, 0, 5)).item(), loss_of(model).item());
  const Tensor nothing = full({2, 5}, -100, int32);
  EXPECT_EQ(model.loss({kTokens}, nothing).item(), 0);
  EXPECT_THROW(model.loss({kTokens}, full({2, 4}, 1, int32)), ShapeError);
}

// Whatever stands in the padding of a row, its other tokens have the same bits.
TEST(Bert, PaddingDoesNotReachTheOthers) {
  manual_seed(1);
  const Bert model(tiny());
  const auto hidden = [&](double filler) {
    return model
        .hidden({from_values(std::vector<double>{1, 2, 3, filler, filler}, {1, 5}, int32),
                 from_values({3}, int32)})
        .to_vector();
  };
  std::vector<double> one = hidden(0), other = hidden(6);
  EXPECT_NE(one, other);
  one.resize(3 * 8), other.resize(3 * 8);
  EXPECT_EQ(one, other);
  const std::vector<double> alone =
      model.hidden({from_values(std::vector<double>{1, 2, 3}, {1, 3}, int32)}).to_vector();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], alone[i], 1e-5) << i;
}

TEST(Bert, CheckpointedBlocksGiveTheSameBits) {
  std::vector<double> results[2];
  for (const bool checkpoint : {false, true}) {
    manual_seed(1);
    BertOptions options = tiny();
    options.checkpoint = checkpoint, options.dropout = 0.2, options.attention_dropout = 0.3;
    Bert model(options);
    results[checkpoint] = bits_of_step<Bert>(model, loss_of);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Bert, HeadsAndOptionsAreChecked) {
  const Bert masked(tiny()), bare(tiny(BertHead::pooler)), classes(tiny(BertHead::classes));
  const Tensor hidden = bare.hidden({kTokens});
  EXPECT_EQ(bare.pooled(hidden).shape(), (Shape{2, 8}));
  EXPECT_EQ(classes.class_logits(hidden).shape(), (Shape{2, 2}));
  EXPECT_THROW(masked.pooled(hidden), ValueError);
  EXPECT_THROW(bare.class_logits(hidden), ValueError);
  EXPECT_THROW(classes.masked_logits(hidden), ValueError);
  EXPECT_THROW(bare.hidden({random_tokens({1, 7}, 7)}), ShapeError);
  BertOptions wrong = tiny();
  wrong.heads = 3;
  EXPECT_THROW(Bert{wrong}, ValueError);
  wrong = tiny(), wrong.dropout = -0.1;
  EXPECT_THROW(Bert{wrong}, ValueError);
  wrong = tiny(), wrong.attention_dropout = 1;
  EXPECT_THROW(Bert{wrong}, ValueError);
}

}  // namespace
}  // namespace halftone::models
