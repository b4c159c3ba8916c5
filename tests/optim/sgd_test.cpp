// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/formula.h"
#include "halftone/optim.h"

namespace halftone::optim {
namespace {

TEST(SGD, FollowsItsFormula) {
  for (const double momentum : {0.0, 0.9})
    for (const double decay : {0.0, 0.1}) {
      Tensor w = random_normal({3, 1001}, 1, 1).set_requires_grad();
      SGD optimizer({{"w", w}}, {.lr = 0.1, .momentum = momentum, .weight_decay = decay});
      std::vector<double> expected = w.to_vector(), velocity(expected.size(), 0.0);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const Tensor gradient = random_normal(w.shape(), 2, step);
        optimizer.zero_grad();
        sum(mul(w, gradient)).backward();
        optimizer.step(0.5f);
        const std::vector<double> g = gradient.to_vector(), actual = w.to_vector();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          velocity[i] = momentum * velocity[i] + 0.5 * g[i] + decay * expected[i];
          expected[i] -= 0.1 * velocity[i];
          ASSERT_NEAR(actual[i], expected[i], 1e-5) << momentum << " " << decay << " element " << i;
        }
      }
    }
}

TEST(SGD, MovesWhenNarrowWeightsAloneWouldNot) {  // fault D18
  struct Row {
    DType dtype;
    double lr, end;
  };
  for (const Row& row : {Row{bfloat16, 1e-3, 0.9}, Row{float16, 1e-4, 0.99}, Row{bfloat16, 2e-3, 0.8}}) {
    Tensor w = leaf({1}, row.dtype);
    SGD optimizer({{"w", w}}, {.lr = row.lr});
    loss_with_gradient(w, {1}).backward();
    for (int i = 0; i < 100; ++i) optimizer.step();
    const Tensor master = optimizer.state()[0].value;
    EXPECT_NEAR(master.item(), row.end, 1e-5);
    EXPECT_EQ(w.item(), decode(row.dtype.format(), encode(row.dtype.format(), master.item())));
  }
}

TEST(SGD, StaysPutWithoutAMaster) {  // the ablation of fault D18
  Tensor coarse = leaf({1}, bfloat16), fine = leaf({1}, float16), overshooting = leaf({1}, bfloat16);
  struct Row {
    Tensor w;
    double lr, end;
  };
  for (Row row : {Row{coarse, 1e-3, 1}, Row{fine, 1e-4, 1}, Row{overshooting, 2e-3, 0.609375}}) {
    SGD optimizer({{"w", row.w}}, {.lr = row.lr, .master = MasterWeights::none});
    loss_with_gradient(row.w, {1}).backward();
    for (int i = 0; i < 100; ++i) optimizer.step();
    EXPECT_EQ(row.w.item(), row.end);
  }
}

TEST(SGD, KeepsVelocityOnlyWithMomentum) {
  Tensor w = leaf({1}, float16);
  EXPECT_EQ(SGD({{"a.w", w}}, {.master = MasterWeights::none}).state().size(), 0u);
  const auto state = SGD({{"a.w", w}}, {.momentum = 0.9}).state();
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].name, "master.a.w");
  EXPECT_EQ(state[1].name, "velocity.a.w");
  EXPECT_EQ(state[1].value.dtype(), float32);
}

TEST(SGD, OptionsOutOfRangeAreNamed) {
  Tensor w = leaf({1});
  const std::vector<Parameter> p{{"w", w}};
  EXPECT_THROW(SGD(p, {.lr = -1}), ValueError);
  EXPECT_THROW(SGD(p, {.lr = kNan}), ValueError);
  EXPECT_THROW(SGD(p, {.momentum = 1}), ValueError);
  EXPECT_THROW(SGD(p, {.weight_decay = -1}), ValueError);
  EXPECT_THAT(message_of([&] { SGD(p, {.momentum = 1}); }), ::testing::HasSubstr("momentum = 1"));
}

// By hand, lr = 1, momentum 0.5: gradients 1, 1 make v = 1, 1.5 and steps g + 0.5 v of 1.5, 1.75.
TEST(SGD, NesterovLooksAhead) {
  Tensor w = leaf({10});
  SGD optimizer({{"w", w}}, {.lr = 1, .momentum = 0.5, .nesterov = true});
  loss_with_gradient(w, {1}).backward();
  optimizer.step();
  EXPECT_EQ(w.item(), 8.5);
  optimizer.step();
  EXPECT_EQ(w.item(), 6.75);
}

TEST(SGD, NesterovNeedsMomentumHoweverItIsMade) {
  const std::vector<Parameter> p{{"w", leaf({1})}};
  const amp::Recipe& recipe = amp::find_recipe("float32");
  EXPECT_THROW(SGD(p, {.nesterov = true}), ValueError);
  EXPECT_THROW(make_optimizer("sgd", p, recipe, {{"nesterov", 1}}), ValueError);
  EXPECT_THAT(message_of([&] {
                make_optimizer("sgd", p, recipe, {{"momentum", 0.9}, {"nesterov", 0.3}});
              }),
              ::testing::HasSubstr("nesterov = 0.3; expected 0 or 1"));
  EXPECT_NO_THROW(make_optimizer("sgd", p, recipe, {{"momentum", 0.9}, {"nesterov", 1}}));
}

}  // namespace
}  // namespace halftone::optim
