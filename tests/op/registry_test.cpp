// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "halftone/op.h"

namespace halftone {
namespace {

TEST(Registry, EveryOpIsNamedOnceSortedAndComplete) {
  std::set<std::string_view> names;
  std::string_view previous;
  for (const Op* op : registered_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " twice";
    EXPECT_LT(previous, op->name);
    previous = op->name;
    EXPECT_TRUE(op->forward && op->backward && op->examples) << op->name;
    EXPECT_FALSE(to_string(op->cast).empty());
  }
  EXPECT_GE(names.size(), 30U);
  EXPECT_TRUE(names.count("conv2d") == 1 && names.count("cross_entropy") == 1);
}

}  // namespace
}  // namespace halftone
