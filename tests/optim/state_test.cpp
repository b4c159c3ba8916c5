// SPDX-License-Identifier: Apache-2.0
#include "optim/state.h"

#include <gmock/gmock.h>

#include "amp/support.h"

namespace halftone::optim {
namespace {

TEST(OptimizerState, OptionsAreCheckedAgainstAHalfOpenRange) {
  check("Rule", "rate", 0, 0, 1);
  check("Rule", "rate", 0.999, 0, 1);
  for (const double bad : {-1e-9, 1.0, kInf, kNan})
    EXPECT_THROW(check("Rule", "rate", bad, 0, 1), ValueError) << bad;
  EXPECT_THAT(message_of([] { check("Rule", "rate", 7, 0, 1); }),
              ::testing::AllOf(::testing::HasSubstr("Rule"), ::testing::HasSubstr("rate = 7")));
}

TEST(OptimizerState, TensorsAreNamedAfterTheirParameters) {
  const Tensor a = leaf({1}), b = leaf({2}), first = zeros({1}), second = zeros({1});
  const std::vector<Parameter> state = named("moment.", {{"x.a", a}, {"x.b", b}}, {first, second});
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].name, "moment.x.a");
  EXPECT_EQ(state[1].name, "moment.x.b");
  EXPECT_EQ(state[1].value.storage(), second.storage());
  EXPECT_TRUE(named("moment.", {{"x.a", a}}, {}).empty());
}

TEST(OptimizerState, WritingThroughValuesDoesNotCountAsAWrite) {
  const Tensor state = zeros({3});
  const std::uint64_t version = state.version();
  values(state)[2] = 5;
  EXPECT_EQ(state.version(), version);
  EXPECT_THAT(state.to_vector(), ::testing::ElementsAre(0, 0, 5));
}

}  // namespace
}  // namespace halftone::optim
