// SPDX-License-Identifier: Apache-2.0
#include "autograd/node.h"

#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(Node, NumbersGrowWithCreation) {
  const Tensor x = ones({1}).set_requires_grad();
  const Tensor a = scale(x, 2), b = scale(a, 2);
  EXPECT_GT(detail::slot_of(b)->producer->id, detail::slot_of(a)->producer->id);
  EXPECT_EQ(detail::slot_of(b)->producer->inputs[0], detail::slot_of(a));
  EXPECT_TRUE(detail::slot_of(x)->is_leaf());
}

TEST(Node, KnowsTheLayerOfItsFirstNamedInput) {
  const Tensor w = ones({3, 2}).set_requires_grad();
  set_name(w, "down.weight");
  const Tensor y = linear(ones({4, 2}).set_requires_grad(), w);
  EXPECT_EQ(detail::layer_of(*detail::slot_of(y)->producer), "down.weight");
}

TEST(Node, AResultDoesNotKeepItselfAlive) {
  const auto before = memory_stats().in_use;
  {
    const Tensor x = ones({1000}).set_requires_grad();
    const Tensor y = exp(x);  // saves its own output
  }
  EXPECT_EQ(memory_stats().in_use, before);
}

}  // namespace
}  // namespace halftone
