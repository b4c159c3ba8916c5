// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/step_fixture.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

TEST(Step, LearnsWithEveryRecipe) {
  for (const Recipe& recipe : kRecipes) {
    Fixture f(recipe, true);
    (*f.step)([&](int) { return f.loss(1); });
    const float first = f.step->loss();
    for (int i = 0; i < 100; ++i) (*f.step)([&](int) { return f.loss(1); });
    EXPECT_LT(f.step->loss(), 0.5f * first) << recipe.name;
  }
}

TEST(Step, TrainingGoesOnAfterARejectedStepAsIfItHadNotBeen) {
  const auto train = [](bool disturb) {
    Fixture f(find_recipe("float16_master"), true, {}, {.init_scale = 8, .backoff_factor = 1});
    for (std::uint64_t i = 0; i < 6; ++i) {
      if (disturb && i == 3) (*f.step)([&](int) { return f.loss(99) + poison(f.model->up.weight); });
      (*f.step)([&](int) { return f.loss(i); });
    }
    return f.everything();
  };
  EXPECT_EQ(train(true), train(false));
}

TEST(Step, AnExceptionOfTheLossLeavesEverythingAsItWas) {
  Fixture f(find_recipe("float16"), false, {.accumulation_steps = 2});
  (*f.step)([&](int i) { return f.loss(static_cast<std::uint64_t>(i)); });
  const auto before = f.everything();
  const auto fail = [&] {
    (*f.step)([&](int i) {
      if (i == 1) throw std::runtime_error("no more data");
      return f.loss(7);
    });
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_EQ(f.everything(), before);
  EXPECT_FALSE(thread_state().autocast.has_value());
  for (const Parameter& p : f.optimizer->parameters()) EXPECT_FALSE(p.value.grad().defined());
  EXPECT_TRUE((*f.step)([&](int) { return f.loss(8); }).applied());
}

TEST(Step, AttributesAnOverflowToOpAndLayer) {
  Fixture f(find_recipe("float16"), false, {}, {.init_scale = 65536});
  // d loss / d y = 65536 does not fit the float16 result of the last layer.
  const auto overflow = [&](int) { return sum(f.model->down(ones({1, 8}))); };
  const StepResult result = (*f.step)(overflow);
  EXPECT_EQ(result.outcome, StepOutcome::skipped_overflow);
  EXPECT_THAT(result.culprit, HasSubstr("down.weight: 24 inf"));
  EXPECT_THAT(result.culprit, HasSubstr("first seen in"));
  EXPECT_THAT(result.culprit, HasSubstr("backward"));
  EXPECT_EQ(f.step->scaler().state().scale, 32768);
  EXPECT_TRUE((*f.step)(overflow).applied());  // 32768 fits
}

TEST(Step, AttributionRunsTheSameStepAgain) {
  const auto index_after = [](bool attribute) {
    Fixture f(find_recipe("float16"), false, {.attribute = attribute});
    std::vector<std::vector<double>> seen;
    (*f.step)([&](int) {
      const Tensor x = dropout(ones({4, 4}), 0.5);
      seen.push_back(x.to_vector());
      for (const Parameter& buffer : nn::buffers(*f.model)) seen.push_back(buffer.value.to_vector());
      return sum((*f.model)(x)) + poison(f.model->down.weight);
    });
    EXPECT_EQ(seen.size(), attribute ? 6u : 3u);
    for (std::size_t i = 3; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - 3]);
    return thread_state().random_index;
  };
  EXPECT_EQ(index_after(true), index_after(false));
}

TEST(Step, MicroBatchesAddUpToTheirMean) {  // fault D21: in float32
  const Recipe& recipe = find_recipe("float32");
  Tensor w = leaf({1});
  optim::SGD optimizer({{"w", w}}, {.lr = 1, .master = recipe.master});
  Step step(optimizer, recipe, {}, {.accumulation_steps = 4});
  step([&](int i) { return scale(sum(w), i + 1); });
  EXPECT_EQ(step.loss(), 2.5f);
  EXPECT_EQ(w.item(), 1 - 2.5);

  Tensor narrow = leaf({0}, bfloat16);
  optim::SGD accumulating({{"w", narrow}}, {.lr = 1});
  Step many(accumulating, find_recipe("bfloat16_pure"), {}, {.accumulation_steps = 1000});
  const StepResult result = many([&](int) { return scale(sum(narrow), 1000); });
  EXPECT_NEAR(result.gradient_norm, 1000, 0.01);
}

TEST(Step, MayHaveAnotherNumberOfMicroBatchesThanUsual) {
  Tensor w = leaf({0});
  optim::SGD optimizer({{"w", w}}, {.lr = 1});
  Step step(optimizer, find_recipe("float32"), {}, {.accumulation_steps = 4});
  for (const int count : {1, 3, 4, 5}) {
    int calls = 0;
    const double before = w.item();
    step([&](int i) { return ++calls, scale(sum(w), 12 * (i + 1)); }, count);
    EXPECT_EQ(calls, count);
    EXPECT_NEAR(before - w.item(), 6 * (count + 1), 1e-5);
  }
  EXPECT_THROW(step([&](int) { return sum(w); }, -1), ValueError);
}

TEST(Step, SumsOfLossesAreDividedByTheirTotalWeight) {  // fault D22
  for (const char* name : {"float32", "float16", "bfloat16"}) {
    // Token losses [4] and [0, 0, 0]: their mean is 1, the mean of their means 2.
    Tensor w = leaf({1});
    optim::SGD optimizer({{"w", w}}, {.lr = 1});
    Step step(optimizer, find_recipe(name), {}, {.accumulation_steps = 2});
    const auto tokens = [&](int i) {
      const Tensor losses = i == 0 ? scale(w, 4) : mul(w, zeros({1}));
      return WeightedLoss{sum(losses), i == 0 ? 1.0 : 3.0};
    };
    EXPECT_TRUE(step(tokens).applied());
    EXPECT_EQ(step.loss(), 1);
    EXPECT_EQ(w.item(), 1 - 1) << name;
  }
}

TEST(Step, MicroBatchesOfSumsGiveTheGradientOfTheWholeBatch) {
  // 7 tokens, split anywhere: integer gradients, so sums are exact and what is left is one division.
  const double token_gradients[] = {3, -1, 4, 1, -5, 9, 2};
  for (int split = 0; split <= 7; ++split) {
    Tensor w = leaf({0});
    optim::SGD optimizer({{"w", w}}, {.lr = 1});
    Step step(optimizer, find_recipe("float16"));
    const auto loss = [&](int i) {
      const int begin = i == 0 ? 0 : split, end = i == 0 ? split : 7;
      double gradient = 0;
      for (int t = begin; t < end; ++t) gradient += token_gradients[t];
      return WeightedLoss{loss_with_gradient(w, {gradient}), static_cast<double>(end - begin)};
    };
    EXPECT_TRUE(step(loss, 2).applied());
    EXPECT_EQ(w.item(), -static_cast<double>(13.0f / 7.0f)) << split;
  }
}

TEST(Step, AWeightThatCanNotBeIsRefusedAndNoWeightIsNothingToDo) {
  Fixture f(find_recipe("float16"));
  (*f.step)([&](int) { return f.loss(0); });
  const auto before = f.everything();
  for (const double bad : {-1.0, kInf, kNan})
    EXPECT_THROW((*f.step)([&](int) { return WeightedLoss{f.loss(0), bad}; }), ValueError);
  const StepResult result = (*f.step)([&](int) { return WeightedLoss{f.loss(0) * 0.0, 0}; });
  EXPECT_EQ(result.outcome, StepOutcome::nothing_to_do);
  EXPECT_THAT(result.describe(), HasSubstr("weights of all micro-batches are 0"));
  EXPECT_EQ(f.step->loss(), 0);
  EXPECT_EQ(f.everything(), before);
}

TEST(Step, ClipsTheTrueGradient) {  // fault B5
  for (const Recipe& recipe : kRecipes) {
    Tensor w = leaf({0, 0});
    optim::SGD optimizer({{"w", w}}, {.lr = 1, .master = recipe.master});
    Step step(optimizer, recipe, {}, {.clip_norm = 1});
    const StepResult result = step([&](int) { return loss_with_gradient(w, {3, 4}); });
    EXPECT_EQ(result.gradient_norm, 5) << recipe.name;
    EXPECT_NEAR(w.to_vector()[0], -0.6, 1e-6);
    EXPECT_NEAR(w.to_vector()[1], -0.8, 1e-6);
  }
}

TEST(Step, ClipsTheElementsOfTheTrueGradient) {
  for (const Recipe& recipe : kRecipes) {
    Tensor w = leaf({0, 0, 0});
    optim::SGD optimizer({{"w", w}}, {.lr = 1, .master = recipe.master});
    Step step(optimizer, recipe, {}, {.clip_value = 1});
    const StepResult result = step([&](int) { return loss_with_gradient(w, {3, -4, 0.5}); });
    EXPECT_NEAR(result.gradient_norm, std::sqrt(25.25), 1e-5) << recipe.name;  // before clipping
    EXPECT_THAT(w.to_vector(), ::testing::ElementsAre(-1, 1, -0.5)) << recipe.name;
  }
}

TEST(Step, ADetachedLossIsNothingToDo) {  // fault B12
  Fixture f(find_recipe("float16"));
  const auto before = f.everything();
  EXPECT_EQ((*f.step)([](int) { return ones({}); }).outcome, StepOutcome::nothing_to_do);
  EXPECT_EQ(f.step->loss(), 1);
  EXPECT_EQ(f.everything(), before);
}

TEST(Step, TooManySkipsInARowBecomeAnError) {  // faults A1, A5
  for (const char* name : {"float32", "float16"}) {
    Fixture f(find_recipe(name), false, {}, {.init_scale = 8, .max_skips_in_a_row = 5});
    (*f.step)([&](int) { return f.loss(0); });
    const auto before = f.everything();
    const auto bad = [&] { (*f.step)([&](int) { return f.loss(0) + poison(f.model->up.weight); }); };
    for (int i = 0; i < 4; ++i) bad();
    EXPECT_THROW(bad(), NonFiniteError);
    EXPECT_THAT(message_of(bad), HasSubstr("up.weight"));
    EXPECT_EQ(f.everything(), before);
    EXPECT_EQ(f.step->scaler().state().skips, 6);
  }
}

TEST(Step, OptionsOutOfRangeAreRefused) {
  Tensor w = leaf({0});
  optim::SGD optimizer({{"w", w}});
  const Recipe& recipe = find_recipe("float32");
  EXPECT_THROW(Step(optimizer, recipe, {}, {.clip_norm = -1}), ValueError);
  EXPECT_THROW(Step(optimizer, recipe, {}, {.clip_norm = kNan}), ValueError);
  EXPECT_THROW(Step(optimizer, recipe, {}, {.clip_value = -1}), ValueError);
  EXPECT_THROW(Step(optimizer, recipe, {}, {.clip_value = kNan}), ValueError);
  EXPECT_THROW(Step(optimizer, recipe, {}, {.clip_norm = 1, .clip_value = 1}), ValueError);
  EXPECT_THROW(Step(optimizer, recipe, {}, {.accumulation_steps = 0}), ValueError);
  EXPECT_THROW(Step(optimizer, recipe, {}, {}, {.growth_interval = 0}), ValueError);
}

TEST(Step, WeightsAreCastOncePerUpdateAndNeverByTheForwardPass) {
  Fixture f(find_recipe("bfloat16"));
  (*f.step)([&](int) { return f.loss(0); });
  const Storage& storage = *f.model->up.weight.storage();
  ASSERT_EQ(storage.casts.size(), 1u);
  const Storage* copy = storage.casts[0].copy.get();
  for (std::uint64_t i = 1; i < 4; ++i) {
    (*f.step)([&](int) {
      EXPECT_EQ(storage.casts.at(0).version, storage.version);  // nothing to cast
      return f.loss(i);
    });
    ASSERT_EQ(storage.casts.size(), 1u);
    EXPECT_EQ(storage.casts[0].copy.get(), copy);
  }
}

}  // namespace
}  // namespace halftone::amp
