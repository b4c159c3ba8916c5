// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

TEST(LossScale, FollowsTheTable) {
  const ScalerOptions options{.growth_interval = 3, .min_scale = 2, .max_scale = 32};
  struct Row {
    ScalerState before;
    bool found_inf;
    ScalerState after;
  };
  const Row table[] = {
      {{8, 0, 0, 0}, false, {8, 1, 0, 0}},    // clean: counts
      {{8, 1, 0, 5}, false, {8, 2, 0, 5}},    // skips ever are kept
      {{8, 2, 0, 0}, false, {16, 0, 0, 0}},   // the interval is complete: grows, starts over
      {{8, 7, 0, 0}, false, {16, 0, 0, 0}},   // at least, not exactly: a shorter interval was loaded
      {{32, 2, 0, 0}, false, {32, 0, 0, 0}},  // ceiling
      {{24, 2, 0, 0}, false, {32, 0, 0, 0}},  // reaches the ceiling exactly
      {{8, 2, 0, 0}, true, {4, 0, 1, 1}},     // overflow: backs off, starts over
      {{4, 0, 1, 1}, true, {2, 0, 2, 2}},     // again
      {{2, 0, 2, 2}, true, {2, 0, 3, 3}},     // floor; the skip counts all the same
      {{3, 0, 0, 0}, true, {2, 0, 1, 1}},     // reaches the floor exactly
      {{2, 0, 3, 3}, false, {2, 1, 0, 3}},    // a clean step ends the row of skips
  };
  for (const Row& row : table) EXPECT_EQ(next(row.before, options, row.found_inf), row.after) << &row - table;
}

TEST(LossScale, DoesNotMoveWhenDisabledButCountsSkips) {
  const ScalerOptions options{.growth_interval = 1, .enabled = false};
  EXPECT_EQ(next({1, 0, 0, 0}, options, true), (ScalerState{1, 0, 1, 1}));
  EXPECT_EQ(next({1, 0, 1, 1}, options, false), (ScalerState{1, 0, 0, 1}));
}

// Every sequence of 12 outcomes, for small parameters, against the rule stated over the whole history.
TEST(LossScale, AgreesWithTheHistoryOnEverySequence) {
  for (const int interval : {1, 2, 3})
    for (const double growth : {1.0, 2.0, 3.0})
      for (const double backoff : {0.25, 0.5, 1.0})
        for (unsigned sequence = 0; sequence < 1u << 12; ++sequence) {
          const ScalerOptions options{.init_scale = 4,
                                      .growth_factor = growth,
                                      .backoff_factor = backoff,
                                      .growth_interval = interval,
                                      .min_scale = 0.5,
                                      .max_scale = 100};
          ScalerState state{4, 0, 0, 0};
          double scale = 4;
          int since_change = 0, row = 0, skips = 0;
          for (int i = 0; i < 12; ++i) {
            const bool overflow = sequence >> i & 1;
            state = next(state, options, overflow);
            row = overflow ? row + 1 : 0;
            skips += overflow;
            since_change = overflow ? 0 : since_change + 1;
            if (overflow) scale *= backoff;
            if (!overflow && since_change % interval == 0) scale *= growth;
            if (!overflow && since_change == interval) since_change = 0;
            scale = scale < 0.5 ? 0.5 : scale > 100 ? 100 : scale;
            ASSERT_EQ(state, (ScalerState{static_cast<float>(scale), since_change, row, skips}))
                << "interval " << interval << " growth " << growth << " backoff " << backoff << " sequence "
                << sequence << " step " << i;
          }
        }
}

TEST(LossScale, TwoHundredOverflowsEndAtThePositiveFloor) {  // fault A1
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 200; ++i) state = next(state, {}, true);
  EXPECT_EQ(state, (ScalerState{1, 0, 200, 200}));
}

TEST(LossScale, StaysUsableAtTheSmallestFloorThereIs) {  // faults A1, A2
  const ScalerOptions options{.min_scale = std::ldexp(1.0, -127)};
  validate(options);
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 200; ++i) {
    state = next(state, options, true);
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
    state = next(state, options, false);
    ASSERT_TRUE(std::isfinite(state.scale)) << i;
  }
  EXPECT_EQ(next(state, options, true).scale, std::numeric_limits<float>::max() / 2);
}

TEST(LossScale, ClimbsToTheMaximumExactlyAndStays) {  // fault A12
  const ScalerOptions options{.growth_interval = 1, .max_scale = 1e6};
  ScalerState state{65536, 0, 0, 0};
  for (int i = 0; i < 30; ++i) state = next(state, options, false);
  EXPECT_EQ(state.scale, 1e6f);
}

TEST(LossScale, IsNotHeldInFloat16) {  // fault A6
  EXPECT_EQ(next({32768, 0, 0, 0}, {.growth_interval = 1}, false).scale, 65536.0f);
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
      {"max_skips_in_a_row", {.max_skips_in_a_row = 0}},
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
