// SPDX-License-Identifier: Apache-2.0
//
// Every optimizer under every recipe: a zero gradient is a zero update whatever epsilon (fault D14), a small
// one is not lost (D18), moments decay (D20), and a gradient that is not finite is never applied, scale or no
// scale (A19, A21).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "faults/support.h"
#include "halftone/optim.h"

namespace halftone {
namespace {

struct Kind {
  std::string name;
  std::function<std::unique_ptr<amp::Optimizer>(std::vector<Parameter>, const amp::Recipe&, double epsilon)>
      make;
};

std::vector<Kind> kinds() {
  return {
      {"sgd",
       [](std::vector<Parameter> parameters, const amp::Recipe& recipe, double) {
         return std::make_unique<optim::SGD>(
             std::move(parameters), optim::SGDOptions{.lr = 0.1, .momentum = 0.5, .master = recipe.master});
       }},
      {"adamw", [](std::vector<Parameter> parameters, const amp::Recipe& recipe, double epsilon) {
         return std::make_unique<optim::AdamW>(
             std::move(parameters),
             optim::AdamWOptions{.lr = 0.1, .epsilon = epsilon, .weight_decay = 0, .master = recipe.master});
       }}};
}

constexpr double kEpsilons[] = {1e-3, 1e-8, 1e-12, 1e-37};  // float16 has none of the last three

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class Optimizers : public testing::TestWithParam<Kind> {
 protected:
  template <class Body>
  void under_every_recipe(const Body& body) const {
    for (const amp::Recipe& recipe : amp::kRecipes) {
      SCOPED_TRACE(recipe.name);
      body(recipe);
    }
  }
  std::unique_ptr<amp::Optimizer> optimizer(const Tensor& w, const amp::Recipe& recipe,
                                            double epsilon = 1e-8) const {
    return GetParam().make({{"w", w}}, recipe, epsilon);
  }
};

TEST_P(Optimizers, AZeroGradientIsAZeroUpdate) {
  under_every_recipe([&](const amp::Recipe& recipe) {
    for (const double epsilon : kEpsilons) {
      const std::vector<double> before{1, -2, 0, 300};
      Tensor w = leaf({1, -2, 0, 300}, recipe.parameter);
      const auto rule = optimizer(w, recipe, epsilon);
      for (int i = 0; i < 3; ++i) {
        rule->zero_grad();
        sum(w * zeros({4})).backward();
        rule->step();
        ASSERT_EQ(w.to_vector(), before) << "epsilon " << epsilon;
      }
      for (const Parameter& entry : rule->state())
        for (const double v : entry.value.to_vector()) ASSERT_TRUE(std::isfinite(v)) << entry.name;
      rule->zero_grad();
      sum(w).backward();
      rule->step();  // and the next one moves
      EXPECT_LT(w.to_vector()[0], 1);
    }
  });
}

TEST_P(Optimizers, AGradientThatIsNotFiniteIsNeverApplied) {
  under_every_recipe([&](const amp::Recipe& recipe) {  // with and without a loss scale
    for (const bool enabled : {false, true})
      for (const double bad : {kInf, -kInf, kNan}) {
        Tensor w = leaf({1, 2}, recipe.parameter);
        const auto rule = optimizer(w, recipe);
        amp::GradScaler scaler(
            {.init_scale = 4, .min_scale = 2, .max_skips_in_a_row = 3, .enabled = enabled});
        for (int skip = 1; skip <= 3; ++skip) {
          const auto step = [&] {
            backward(scaler.scale(sum(w)) + sum(w * from_values({0, bad})));
            const amp::StepResult result = scaler.step(*rule);
            EXPECT_EQ(result.outcome, amp::StepOutcome::skipped_overflow);
            scaler.update();
          };
          if (skip < 3)
            step();
          else
            EXPECT_THROW(step(), NonFiniteError);
          EXPECT_EQ(w.to_vector(), (std::vector<double>{1, 2}));
          EXPECT_EQ(rule->steps(), 0);
          EXPECT_EQ(scaler.state().skips, skip);
        }
      }
  });
}

TEST_P(Optimizers, SmallUpdatesAddUpUnlessTheRecipeShowsThatTheyDoNot) {
  under_every_recipe([&](const amp::Recipe& recipe) {  // fault D18
    Tensor w = leaf(Shape{64}, 1, recipe.parameter);
    const auto rule = optimizer(w, recipe);
    rule->set_lr(1e-4);
    for (int i = 0; i < 100; ++i) {
      rule->zero_grad();
      sum(w).backward();
      rule->step();
    }
    double mean = 0;
    for (const double v : w.to_vector()) mean += v / 64;
    if (recipe.master == amp::MasterWeights::none)
      EXPECT_EQ(mean, 1) << "the ablation";
    else
      EXPECT_LT(mean, 0.995);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace halftone
