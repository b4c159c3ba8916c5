// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

TEST(ScalerPolicy, EveryRowIsValidAndFoundByItsName) {
  for (const ScalerPolicy& policy : kScalerPolicies) {
    EXPECT_NO_THROW(validate(policy.options)) << policy.name;
    EXPECT_EQ(&find_scaler_policy(policy.name), &policy);
    EXPECT_FALSE(policy.source.empty());
    EXPECT_EQ(policy.options.max_skips_in_a_row, 50);  // law 5 holds for all
  }
}

TEST(ScalerPolicy, AnUnknownNameListsTheNames) {
  EXPECT_EQ(find_scaler_policy_if("jax"), nullptr);
  EXPECT_THAT(message_of([] { find_scaler_policy("jax"); }),
              ::testing::HasSubstr("pytorch, megatron, deepspeed, deepspeed_consecutive, keras, predictive"));
}

// What each system does from its start, in its own words: the scale after so many overflows, and how many
// clean steps until it grows.
TEST(ScalerPolicy, RowsBehaveLikeTheSystemsTheyAreNamedAfter) {
  struct Row {
    std::string_view name;
    double first;
    std::vector<double> after_overflows;
    int interval;
  };
  const Row rows[] = {
      {"pytorch", 65536, {32768, 16384, 8192}, 2000},
      {"keras", 32768, {16384, 8192, 4096}, 2000},
      {"megatron", 4294967296, {4294967296, 2147483648, 1073741824}, 1000},
      {"deepspeed", 65536, {65536, 32768, 16384}, 1000},
      {"deepspeed_consecutive", 65536, {65536, 32768, 16384}, 1000},
  };
  for (const Row& row : rows) {
    const ScalerOptions& options = find_scaler_policy(row.name).options;
    ScalerState state = GradScaler(options).state();
    EXPECT_EQ(state.scale, row.first);
    for (const double expected : row.after_overflows) {
      state = next(state, options, {.found_inf = true});
      EXPECT_EQ(state.scale, expected) << row.name;
    }
    const float low = state.scale;
    int steps = 0;
    while (state.scale == low) {
      state = next(state, options, {});
      ++steps;
    }
    EXPECT_EQ(steps, row.interval) << row.name;
    EXPECT_EQ(state.scale, 2 * low) << row.name;
  }
}

TEST(ScalerPolicy, DeepSpeedEndsAtItsMinimumAndTheOthersAtTheLimitOfSkips) {  // fault A5
  for (const ScalerPolicy& policy : kScalerPolicies) {
    ScalerState state = GradScaler(policy.options).state();
    int skips = 0;
    while (!gives_up(state, policy.options)) {
      state = next(state, policy.options, {.found_inf = true});
      ++skips;
    }
    const bool at_minimum = policy.name.starts_with("deepspeed");
    EXPECT_EQ(skips, at_minimum ? 1 + 16 + 1 : 50) << policy.name;  // tolerated, 2^16 to 1, at the floor
    EXPECT_EQ(state.scale, 1) << policy.name;
  }
}

}  // namespace
}  // namespace halftone::amp
