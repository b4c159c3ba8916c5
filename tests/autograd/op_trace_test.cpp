// SPDX-License-Identifier: Apache-2.0
#include "autograd/op_trace.h"

#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone::detail {
namespace {

using Mode = OpTrace::Scope::Mode;

TEST(OpTrace, IsOffWhereNoScopeIs) {
  EXPECT_FALSE(OpTrace::active());
  OpTrace trace;
  {
    const OpTrace::Scope scope(trace, Mode::record);
    EXPECT_TRUE(OpTrace::active());
  }
  EXPECT_FALSE(OpTrace::active());
}

TEST(OpTrace, KeepsTheResultsAskedForAndGivesThemAgain) {
  OpTrace trace({"b"});
  const Tensor kept = ones({2}), saved = ones({3});
  {
    const OpTrace::Scope scope(trace, Mode::record);
    EXPECT_EQ(OpTrace::begin("a"), nullptr);
    OpTrace::end("a", {ones({1}), {}, 0});
    EXPECT_EQ(OpTrace::begin("b"), nullptr);
    OpTrace::end("b", {kept, {saved}, 5});
  }
  const OpTrace::Scope scope(trace, Mode::compare);
  EXPECT_EQ(OpTrace::begin("a"), nullptr);
  OpTrace::end("a", {ones({1}), {}, 0});
  const OpResult* result = OpTrace::begin("b");
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->output.storage(), kept.storage());
  EXPECT_EQ(result->saved.at(0).storage(), saved.storage());
  EXPECT_EQ(result->random_numbers, 5U);
  OpTrace::end("b", *result);
  EXPECT_NO_THROW(scope.finish());
}

TEST(OpTrace, NotesOutsideSlotsOnceAndOnlyWhileRecording) {
  OpTrace trace;
  const Tensor x = ones({1}).set_requires_grad(), y = ones({1}).set_requires_grad();
  {
    const OpTrace::Scope scope(trace, Mode::record);
    for (const Tensor& t : {y, x, y, ones({1})}) OpTrace::uses(t);
  }
  {
    const OpTrace::Scope scope(trace, Mode::compare);
    OpTrace::uses(ones({1}).set_requires_grad());
  }
  const auto used = trace.take_used();
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0], slot_of(y));
  EXPECT_EQ(used[1], slot_of(x));
  EXPECT_TRUE(trace.take_used().empty());
}

TEST(OpTrace, ScopesNestAndAllOfThemSee) {
  OpTrace outer, inner;
  const OpTrace::Scope first(outer, Mode::record);
  {
    const OpTrace::Scope second(inner, Mode::record);
    relu(ones({2}));
  }
  const OpTrace::Scope third(inner, Mode::compare);
  relu(ones({2}));
  EXPECT_NO_THROW(third.finish());
  EXPECT_THROW(relu(ones({2})), Error) << "one too many for the inner trace";
}

}  // namespace
}  // namespace halftone::detail
