// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

TEST(StepResult, EveryOutcomeDescribesItselfInOneLine) {
  const struct {
    StepResult result;
    std::string expected;
  } rows[] = {
      {{StepOutcome::applied, 1024, 0.5f}, "applied: scale 1024, gradient norm 0.5"},
      {{StepOutcome::skipped_overflow, 1024, 0, 3, 0, "w: 1 inf, 0 NaN of 2"},
       "skipped (overflow, 3 in a row) at scale 1024: w: 1 inf, 0 NaN of 2"},
      {{StepOutcome::skipped_overflow, 1, 0, 3, 1, "w: 1 inf, 0 NaN of 2"},
       "skipped (overflow, 3 in a row) at scale 1, which is its floor: w: 1 inf, 0 NaN of 2"},
      {{}, "nothing to do: no parameter has a gradient"},
      {{.culprit = "the weights of all micro-batches are 0"},
       "nothing to do: the weights of all micro-batches are 0"},
      {{StepOutcome::loss_not_finite, 1024, 0, 2, 0, "the loss of micro-batch 0 is NaN before scaling"},
       "skipped (2 in a row): the loss of micro-batch 0 is NaN before scaling"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.result.describe(), row.expected);
    EXPECT_EQ(row.result.applied(), row.result.outcome == StepOutcome::applied);
  }
}

TEST(StepResult, TheErrorSaysWhatHappenedAndWhatToTry) {
  const auto message = [](const StepResult& result) {
    return message_of([&] { throw_non_finite("step 7", result); });
  };
  const std::string overflow = message({StepOutcome::skipped_overflow, 1, 0, 50, 34, "w: 1 inf"});
  for (const char* part : {"[step 7] 50 steps skipped in a row", "at scale 1 (34 at that floor)", "w: 1 inf",
                           "not a scaling problem"})
    EXPECT_THAT(overflow, HasSubstr(part));
  EXPECT_THAT(message({StepOutcome::skipped_overflow, 8, 0, 50, 0, "w: 1 inf"}),
              HasSubstr("at scale 8 because of w"));
  const std::string once = message({StepOutcome::loss_not_finite, 1, 0, 1, 0, "the loss is NaN"});
  EXPECT_THAT(once, HasSubstr("[step 7] the loss is NaN; expected a finite loss; try"));
  EXPECT_THAT(message({StepOutcome::loss_not_finite, 1, 0, 9, 0, "the loss is NaN"}),
              HasSubstr("9 steps skipped in a row, the last because the loss is NaN"));
  EXPECT_THROW(throw_non_finite("", {}), NonFiniteError);
}

}  // namespace
}  // namespace halftone::amp
