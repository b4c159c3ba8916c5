// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/nn.h"
#include "halftone/optim.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

struct Model {
  nn::Linear up{4, 8};
  nn::BatchNorm norm{8};
  nn::Linear down{8, 3};
  Tensor operator()(const Tensor& x) const { return down(relu(norm(up(x)))); }
  void visit(auto&& each) { each("up", up), each("norm", norm), each("down", down); }
};

struct Fixture {
  explicit Fixture(const Recipe& recipe, bool adamw = false, StepOptions options = {},
                   ScalerOptions scaler = {})
      : recipe(recipe) {
    manual_seed(1);
    model = std::make_unique<Model>();
    nn::to(*model, recipe.parameter);
    if (adamw)
      optimizer = std::make_unique<optim::AdamW>(nn::parameters(*model),
                                                 optim::AdamWOptions{.lr = 0.01, .master = recipe.master});
    else
      optimizer = std::make_unique<optim::SGD>(
          nn::parameters(*model), optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .master = recipe.master});
    step = std::make_unique<Step>(*optimizer, recipe, nn::buffers(*model), options, scaler);
  }

  Tensor loss(std::uint64_t batch, std::int64_t rows = 16) {
    Tensor targets(Shape{rows}, int32);
    for (std::int64_t i = 0; i < rows; ++i)
      targets.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
    return cross_entropy((*model)(random_normal({rows, 4}, 5, batch)), targets);
  }

  // Everything that a rejected step must leave as it was.
  std::vector<std::uint64_t> everything() {
    std::vector<std::uint64_t> all = bits(nn::parameters(*model));
    for (const auto& list : {bits(nn::buffers(*model)), bits(optimizer->state())})
      all.insert(all.end(), list.begin(), list.end());
    for (const Parameter& p : optimizer->parameters())
      for (const auto& cast : p.value.storage()->casts) {
        all.push_back(bits({cast.copy->data, static_cast<std::size_t>(cast.copy->bytes)}));
        EXPECT_EQ(cast.version, p.value.version());
      }
    return all;
  }

  const Recipe& recipe;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Step> step;
};

TEST(Step, LearnsWithEveryRecipe) {
  for (const Recipe& recipe : kRecipes) {
    Fixture f(recipe, true);
    (*f.step)([&](int) { return f.loss(1); });
    const float first = f.step->loss();
    for (int i = 0; i < 100; ++i) (*f.step)([&](int) { return f.loss(1); });
    EXPECT_LT(f.step->loss(), 0.5f * first) << recipe.name;
  }
}

TEST(Step, ARejectedStepChangesNothing) {  // law 4
  for (const Recipe& recipe : kRecipes)
    for (const bool adamw : {false, true})
      for (const bool attribute : {false, true}) {
        SCOPED_TRACE(std::string(recipe.name) + (adamw ? " adamw" : " sgd") +
                     (attribute ? " attributed" : ""));
        Fixture f(recipe, adamw, {.attribute = attribute}, {.init_scale = 8});
        for (std::uint64_t i = 0; i < 3; ++i)
          ASSERT_TRUE((*f.step)([&](int) { return f.loss(i); }).applied());
        const auto before = f.everything();
        const ScalerState scaler = f.step->scaler().state();
        const StepResult result = (*f.step)([&](int) { return f.loss(3) + poison(f.model->down.weight); });
        EXPECT_EQ(result.outcome, StepOutcome::skipped_overflow);
        EXPECT_THAT(result.culprit, HasSubstr("down.weight: 0 inf, 24 NaN of 24"));
        EXPECT_EQ(f.everything(), before);
        EXPECT_EQ(f.optimizer->steps(), 3);
        const float scale = recipe.scaling == LossScaling::dynamic ? scaler.scale / 2 : scaler.scale;
        EXPECT_EQ(f.step->scaler().state(), (ScalerState{scale, 0, 1, 1}));
        for (const Parameter& p : f.optimizer->parameters()) EXPECT_FALSE(p.value.grad().defined());
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

TEST(Step, ALossThatIsNotFiniteIsReportedAsItself) {  // law 5, fault A10
  for (const double bad : {kNan, kInf})
    for (const Recipe& recipe : kRecipes) {
      Fixture f(recipe);
      (*f.step)([&](int) { return f.loss(0); });
      const auto before = f.everything();
      const ScalerState scaler = f.step->scaler().state();
      const auto fail = [&] { (*f.step)([&](int) { return f.loss(1) + full({}, bad); }); };
      EXPECT_THROW(fail(), NonFiniteError) << recipe.name;
      const std::string message = message_of(fail);
      EXPECT_THAT(message, HasSubstr("step 2"));
      EXPECT_THAT(message, HasSubstr("before scaling"));
      EXPECT_EQ(f.everything(), before) << recipe.name;
      EXPECT_EQ(f.step->scaler().state(), scaler);
      for (const Parameter& p : f.optimizer->parameters()) EXPECT_FALSE(p.value.grad().defined());
    }
}

TEST(Step, ALossThatIsNotFiniteIsTracedToTheOpThatMadeIt) {
  Fixture f(find_recipe("float16"));
  const auto fail = [&] {
    (*f.step)([&](int) { return sum(f.model->down(f.model->up(full({2, 4}, 1e6)))); });
  };
  const std::string message = message_of(fail);
  EXPECT_THAT(message, HasSubstr("linear forward"));
  EXPECT_THAT(message, HasSubstr("up."));
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
