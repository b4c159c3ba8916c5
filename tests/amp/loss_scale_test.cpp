// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

constexpr ScalerEvent kClean{}, kOverflow{.found_inf = true}, kBadLoss{.loss_not_finite = true};

TEST(LossScale, FollowsTheTable) {
  const ScalerOptions options{.growth_interval = 3, .min_scale = 2, .max_scale = 32};
  struct Row {
    ScalerState before;
    bool found_inf;
    ScalerState after;
  };
  const Row table[] = {
      {{8, 0, 0, 0}, false, {8, 1, 0, 0}},        // clean: counts
      {{8, 1, 0, 5}, false, {8, 2, 0, 5}},        // skips ever are kept
      {{8, 2, 0, 0}, false, {16, 0, 0, 0}},       // the interval is complete: grows, starts over
      {{8, 7, 0, 0}, false, {16, 0, 0, 0}},       // at least, not exactly: a shorter interval was loaded
      {{32, 2, 0, 0}, false, {32, 0, 0, 0}},      // ceiling
      {{24, 2, 0, 0}, false, {32, 0, 0, 0}},      // reaches the ceiling exactly
      {{8, 2, 0, 0}, true, {4, 0, 1, 1}},         // overflow: backs off, starts over
      {{4, 0, 1, 1}, true, {2, 0, 2, 2}},         // again
      {{2, 0, 2, 2}, true, {2, 0, 3, 3, 0, 1}},   // floor; the skip counts all the same
      {{3, 0, 0, 0}, true, {2, 0, 1, 1}},         // reaches the floor exactly
      {{2, 0, 3, 3, 0, 1}, false, {2, 1, 0, 3}},  // a clean step ends the row of skips
  };
  for (const Row& row : table)
    EXPECT_EQ(next(row.before, options, {row.found_inf}), row.after) << &row - table;
}

TEST(LossScale, DoesNotMoveWhenDisabledButCountsSkips) {
  const ScalerOptions options{.growth_interval = 1, .enabled = false};
  EXPECT_EQ(next({1, 0, 0, 0}, options, kOverflow), (ScalerState{1, 0, 1, 1}));
  EXPECT_EQ(next({1, 0, 1, 1}, options, kClean), (ScalerState{1, 0, 0, 1}));
}

TEST(LossScale, ALossThatIsNotFiniteMovesNothingButTheCountsOfSkips) {  // fault A10
  const ScalerState state{8, 2, 1, 3, 1, 1};
  for (const ScalerRule rule : {ScalerRule::dynamic, ScalerRule::constant, ScalerRule::predictive})
    EXPECT_EQ(next(state, {.growth_interval = 3, .hysteresis = 2, .rule = rule}, kBadLoss),
              (ScalerState{8, 2, 2, 4, 1, 1}));
}

TEST(LossScale, AConstantScaleDoesNotMoveButCountsSkips) {
  const ScalerOptions options{.growth_interval = 1, .rule = ScalerRule::constant};
  EXPECT_EQ(next({8, 0, 0, 0}, options, kOverflow), (ScalerState{8, 0, 1, 1}));
  EXPECT_EQ(next({8, 0, 1, 1}, options, kClean), (ScalerState{8, 0, 0, 1}));
}

TEST(LossScale, ToleratesOverflowsUpToItsHysteresis) {
  for (const Refill refill : {Refill::on_growth, Refill::every_clean_step}) {
    const ScalerOptions options{.growth_interval = 2, .hysteresis = 3, .refill = refill};
    const auto scale_after = [&](std::string_view events) {  // o: overflow, .: clean
      ScalerState state{1024, 0, 0, 0};
      for (const char event : events) state = next(state, options, event == 'o' ? kOverflow : kClean);
      return state.scale;
    };
    const bool always = refill == Refill::every_clean_step;
    EXPECT_EQ(scale_after("oo"), 1024);
    EXPECT_EQ(scale_after("ooo"), 512);
    EXPECT_EQ(scale_after("oooo"), 256);  // used up: every further one counts
    EXPECT_EQ(scale_after("oo.o"), always ? 1024 : 512);
    EXPECT_EQ(scale_after("oo.o.ooo"), always ? 512 : 64);
    EXPECT_EQ(scale_after("oo..oo"), 2048);  // it grew
  }
}

TEST(LossScale, GivesUpAtItsLimitsAndNotBefore) {  // fault A5
  const ScalerOptions options{
      .init_scale = 4, .hysteresis = 2, .max_skips_in_a_row = 9, .max_skips_at_floor = 2};
  ScalerState state{4, 0, 0, 0};
  const int at_floor[] = {0, 0, 0, 1, 2};  // tolerated, 4 to 2, 2 to 1, the first time at the floor, again
  for (const int expected : at_floor) {
    EXPECT_FALSE(gives_up(state, options));
    state = next(state, options, kOverflow);
    EXPECT_EQ(state.skips_at_floor, expected);
  }
  EXPECT_TRUE(gives_up(state, options));
  EXPECT_FALSE(gives_up(next(state, options, kClean), options));  // in a row
  EXPECT_FALSE(gives_up({1, 0, 8, 8, 1, 1}, options));
  EXPECT_TRUE(gives_up({1, 0, 9, 9, 1, 1}, options));
  EXPECT_FALSE(gives_up({1, 0, 1000, 1000, 0, 1000}, {.max_skips_in_a_row = 0}));  // goes on for ever
}

TEST(LossScale, TwoHundredOverflowsEndAtThePositiveFloor) {  // fault A1
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 200; ++i) state = next(state, {}, kOverflow);
  EXPECT_EQ(state, (ScalerState{1, 0, 200, 200, 0, 184}));
}

TEST(LossScale, StaysUsableAtTheSmallestFloorThereIs) {  // faults A1, A2
  const ScalerOptions options{.min_scale = std::ldexp(1.0, -127)};
  validate(options);
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 200; ++i) {
    state = next(state, options, kOverflow);
    ASSERT_GT(state.scale, 0);
    ASSERT_TRUE(std::isfinite(1 / state.scale));
  }
}

TEST(LossScale, NeverGrowsToInfinity) {  // fault A3
  ScalerOptions options{
      .growth_factor = 10, .growth_interval = 1, .max_scale = std::numeric_limits<float>::max()};
  validate(options);
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 70; ++i) {
    state = next(state, options, kClean);
    ASSERT_TRUE(std::isfinite(state.scale)) << i;
  }
  EXPECT_EQ(next(state, options, kOverflow).scale, std::numeric_limits<float>::max() / 2);
}

TEST(LossScale, ClimbsToTheMaximumExactlyAndStays) {  // fault A12
  const ScalerOptions options{.growth_interval = 1, .max_scale = 1e6};
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 30; ++i) state = next(state, options, kClean);
  EXPECT_EQ(state.scale, 1e6f);
}

TEST(LossScale, IsNotHeldInFloat16) {  // fault A6
  EXPECT_EQ(next({32768, 0, 0, 0}, {.growth_interval = 1}, kClean).scale, 65536.0f);
}

TEST(LossScale, DefaultsDoNotDependOnTheOtherOptions) {  // fault A8
  EXPECT_EQ(GradScaler({.growth_interval = 7}).state().scale, 65536.0f);
  EXPECT_EQ(GradScaler({.backoff_factor = 0.25}).options().growth_interval, 2000);
}

TEST(LossScale, OptionsOutOfRangeAreNamed) {  // fault E6
  const double nan = kNan;
  struct Row {
    std::string option;
    ScalerOptions options;
  };
  const Row table[] = {
      {"growth_factor", {.growth_factor = 0.5}},
      {"growth_factor", {.growth_factor = kInf}},
      {"growth_factor", {.growth_factor = nan}},
      {"backoff_factor", {.backoff_factor = 0}},
      {"backoff_factor", {.backoff_factor = -0.5}},
      {"backoff_factor", {.backoff_factor = 1.5}},
      {"backoff_factor", {.backoff_factor = nan}},
      {"growth_interval", {.growth_interval = 0}},
      {"init_scale", {.init_scale = 0}},
      {"init_scale", {.init_scale = -1}},
      {"init_scale", {.init_scale = nan}},
      {"init_scale", {.init_scale = kInf}},
      {"init_scale", {.init_scale = 1e60}},
      {"init_scale", {.init_scale = 0.5}},  // below min_scale
      {"init_scale", {.init_scale = 1e9}},  // above max_scale
      {"min_scale", {.min_scale = 0}},
      {"min_scale", {.min_scale = std::ldexp(1.0, -140)}},
      {"max_scale", {.max_scale = kInf}},
      {"hysteresis", {.hysteresis = 0}},
      {"max_skips_in_a_row", {.max_skips_in_a_row = -1}},
      {"max_skips_at_floor", {.max_skips_at_floor = -1}},
      {"largest_value", {.largest_value = 0}},
      {"largest_value", {.largest_value = kInf}},
      {"deviations", {.deviations = -1}},
      {"deviations", {.deviations = nan}},
      {"decay", {.decay = 1}},
      {"decay", {.decay = -0.5}},
  };
  for (const Row& row : table) {
    EXPECT_THROW(validate(row.options), ValueError) << row.option;
    EXPECT_THAT(message_of([&] { GradScaler scaler(row.options); }), ::testing::HasSubstr(row.option + " ="));
  }
  validate(ScalerOptions{});
  validate(ScalerOptions{.growth_factor = 1, .backoff_factor = 1, .growth_interval = 1, .min_scale = 0.001});
}

}  // namespace
}  // namespace halftone::amp
