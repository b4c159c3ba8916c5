// SPDX-License-Identifier: Apache-2.0
//
// Law 4 and law 5: whatever a step that is not applied is rejected for, it has changed nothing, and says why.
#include <gmock/gmock.h>

#include <stdexcept>

#include "amp/step_fixture.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

// A way for a step to end, from the second of its two micro-batches.
struct Ending {
  const char* name;
  StepOutcome outcome;
  Tensor (*second)(Fixture& f);
};
const Ending kEndings[] = {
    {"overflow", StepOutcome::skipped_overflow,
     [](Fixture& f) { return f.loss(9) + poison(f.model->down.weight); }},
    {"NaN loss", StepOutcome::loss_not_finite, [](Fixture& f) { return f.loss(9) + full({}, kNan); }},
    {"infinite loss", StepOutcome::loss_not_finite, [](Fixture& f) { return f.loss(9) + full({}, kInf); }},
    {"exception", StepOutcome::applied, [](Fixture&) -> Tensor { throw std::runtime_error("no more data"); }},
};

ScalerState expected_state(const ScalerState& before, const Ending& ending, const Recipe& recipe) {
  ScalerState state = before;
  if (ending.outcome == StepOutcome::applied) return state;
  ++state.skips, ++state.skips_in_a_row;
  if (ending.outcome == StepOutcome::loss_not_finite) return state;
  state.clean_steps = 0;
  if (recipe.scaling == LossScaling::dynamic) state.scale /= 2;
  return state;
}

TEST(StepOutcomes, AStepThatIsNotAppliedChangesNothing) {  // law 4
  for (const Recipe& recipe : kRecipes)
    for (const bool adamw : {false, true})
      for (const Ending& ending : kEndings)
        for (const bool attribute : {false, true}) {
          SCOPED_TRACE(std::string(recipe.name) + (adamw ? " adamw " : " sgd ") + ending.name +
                       (attribute ? ", attributed" : ""));
          Fixture f(recipe, adamw, {.accumulation_steps = 2, .attribute = attribute}, {.init_scale = 8});
          for (std::uint64_t i = 0; i < 2; ++i)
            ASSERT_TRUE((*f.step)([&](int) { return f.loss(i); }).applied());
          const auto before = f.everything();
          const ScalerState scaler = f.step->scaler().state();
          const std::uint64_t random = thread_state().random_index;
          StepResult result;
          try {
            result = (*f.step)([&](int i) {
              take_random(100);  // as dropout would
              return i == 0 ? f.loss(5) : ending.second(f);
            });
            EXPECT_EQ(result.outcome, ending.outcome);
            EXPECT_EQ(result.skips_in_a_row, 1);
            EXPECT_EQ(result.describe().find('\n'), std::string::npos);
            EXPECT_THAT(result.culprit, HasSubstr(ending.outcome == StepOutcome::skipped_overflow
                                                      ? "down.weight: 0 inf, 24 NaN of 24"
                                                      : "micro-batch 1 is "));
          } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "no more data");
          }
          EXPECT_EQ(f.everything(), before);
          EXPECT_EQ(f.optimizer->steps(), 2);
          EXPECT_EQ(thread_state().random_index, random);
          EXPECT_EQ(f.step->scaler().state(), expected_state(scaler, ending, recipe));
          for (const Parameter& p : f.optimizer->parameters()) EXPECT_FALSE(p.value.grad().defined());
          EXPECT_TRUE((*f.step)([&](int) { return f.loss(7); }).applied());
        }
}

TEST(StepOutcomes, NothingToDoChangesNothing) {
  for (const Recipe& recipe : kRecipes) {
    Fixture f(recipe, true);
    (*f.step)([&](int) { return f.loss(0); });
    const auto before = f.everything();
    const std::uint64_t random = thread_state().random_index;
    const StepResult result = (*f.step)([&](int) {
      take_random(100);
      return f.loss(1).detach();
    });
    EXPECT_EQ(result.outcome, StepOutcome::nothing_to_do);
    EXPECT_EQ(f.everything(), before) << recipe.name;  // running statistics too
    EXPECT_EQ(thread_state().random_index, random);
    EXPECT_EQ(f.optimizer->steps(), 1);
  }
}

TEST(StepOutcomes, ALossThatIsNotFiniteIsReportedAsItself) {  // law 5, fault A10
  const struct {
    double value;
    const char* word;
  } rows[] = {{kNan, "is NaN"}, {kInf, "is infinity"}, {-kInf, "is -infinity"}};
  for (const auto& row : rows) {
    Fixture f(find_recipe("float16"), false, {.accumulation_steps = 3});
    const StepResult result =
        (*f.step)([&](int i) { return i == 2 ? f.loss(1) + full({}, row.value) : f.loss(0); });
    EXPECT_EQ(result.outcome, StepOutcome::loss_not_finite);
    EXPECT_THAT(result.culprit, HasSubstr("the loss of micro-batch 2 " + std::string(row.word)));
    EXPECT_THAT(result.culprit, HasSubstr("before scaling"));
    EXPECT_FALSE(std::isfinite(f.step->loss()));  // fault D28: what is logged is not prettier than it was
    EXPECT_EQ(f.step->scaler().state().scale, 65536);
  }
}

TEST(StepOutcomes, ALossThatIsNotFiniteIsTracedToTheOpThatMadeIt) {
  for (const bool attribute : {false, true}) {
    Fixture f(find_recipe("float16"), false, {.attribute = attribute});
    int calls = 0;
    const StepResult result = (*f.step)([&](int) {
      ++calls;
      return sum(f.model->down(f.model->up(full({2, 4}, 1e6))));
    });
    EXPECT_EQ(calls, attribute ? 2 : 1);
    EXPECT_EQ(result.culprit.find("linear forward") != std::string::npos, attribute);
    EXPECT_EQ(result.culprit.find("up.") != std::string::npos, attribute);
  }
}

TEST(StepOutcomes, SkipsOfEitherKindCountTowardsTheLimit) {  // faults A1, A10, A21
  Fixture f(find_recipe("float16"), false, {}, {.init_scale = 8, .max_skips_in_a_row = 4});
  const auto bad_loss = [&] { return (*f.step)([&](int) { return full({}, kNan); }); };
  const auto overflow = [&] {
    return (*f.step)([&](int) { return f.loss(0) + poison(f.model->up.weight); });
  };
  (*f.step)([&](int) { return f.loss(0); });
  const auto before = f.everything();
  EXPECT_EQ(bad_loss().skips_in_a_row, 1);
  EXPECT_EQ(overflow().skips_in_a_row, 2);
  EXPECT_EQ(bad_loss().skips_in_a_row, 3);
  const std::string message = message_of(bad_loss);
  EXPECT_THAT(message, HasSubstr("4 steps skipped in a row, the last because the loss of micro-batch 0"));
  EXPECT_THAT(message_of(overflow), HasSubstr("5 steps skipped in a row"));
  EXPECT_EQ(f.everything(), before);
  EXPECT_EQ(f.step->scaler().state().skips, 5);
  EXPECT_TRUE((*f.step)([&](int) { return f.loss(0); }).applied());
  EXPECT_EQ(bad_loss().skips_in_a_row, 1);
}

TEST(StepOutcomes, ADisabledFloorLimitGoesOnForEver) {  // fault A5
  Fixture f(find_recipe("float16"), false, {.attribute = false}, {.init_scale = 2, .max_skips_in_a_row = 0});
  for (int i = 1; i <= 100; ++i) {
    const StepResult result = (*f.step)([&](int) { return f.loss(0) + poison(f.model->up.weight); });
    ASSERT_EQ(result.skips_in_a_row, i);
    ASSERT_EQ(result.skips_at_floor, i - 1);
  }
  EXPECT_EQ(f.step->scaler().state().scale, 1);
}

TEST(StepOutcomes, ThePredictionKnowsTheFormatOfTheRecipe) {
  for (const char* name : {"float16", "float8_e5m2", "e4m3"}) {
    const Recipe& recipe = find_recipe(name);
    ASSERT_EQ(recipe.scaling, LossScaling::dynamic);
    Fixture f(recipe, false, {}, find_scaler_policy("predictive").options);
    EXPECT_EQ(f.step->scaler().options().largest_value, max_finite(recipe.compute.format()));
  }
}

TEST(StepOutcomes, EveryPolicyTrainsAndRecovers) {
  for (const ScalerPolicy& policy : kScalerPolicies) {
    Fixture f(find_recipe("float16"), true, {.attribute = false}, policy.options);
    (*f.step)([&](int) { return f.loss(1); });
    const float first = f.step->loss();
    int applied = 0;
    for (int i = 0; i < 100; ++i) {
      const bool bad = i % 20 == 7;
      applied +=
          (*f.step)([&](int) { return bad ? f.loss(1) + poison(f.model->up.weight) : f.loss(1); }).applied();
    }
    EXPECT_LT(f.step->loss(), 0.5f * first) << policy.name;
    EXPECT_GT(applied, 60) << policy.name;
  }
}

}  // namespace
}  // namespace halftone::amp
