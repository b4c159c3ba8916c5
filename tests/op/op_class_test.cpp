// SPDX-License-Identifier: Apache-2.0
#include "op/op_class.h"

#include <gtest/gtest.h>

#include <set>

#include "halftone/op.h"

namespace halftone {
namespace {

TEST(OpClass, EveryOpOfTheLibraryHasOne) {
  ASSERT_GT(registered_ops().size(), 30U);
  for (const Op* op : registered_ops())
    EXPECT_NE(class_of_op(op->name), profile::Class::other) << op->name << " is not in src/op/op_class.cpp";
  // Those that only derivatives use are in no catalogue.
  for (const char* op : {"conv2d_gradient", "inverse_root", "normal_distribution", "scatter_rows", "place"})
    EXPECT_NE(class_of_op(op), profile::Class::other) << op;
}

// Products are what is rounded to the compute format; nothing else may count as them.
TEST(OpClass, ProductsAreTheOpsThatAreCastToTheComputeFormat) {
  for (const Op* op : registered_ops()) {
    const profile::Class kind = class_of_op(op->name);
    if (op->cast == CastPolicy::compute)
      EXPECT_TRUE(kind == profile::Class::matmul || kind == profile::Class::attention) << op->name;
    else
      EXPECT_NE(kind, profile::Class::matmul) << op->name;
  }
}

TEST(OpClass, AnOpFromOutsideIsOther) { EXPECT_EQ(class_of_op("softplus"), profile::Class::other); }

TEST(OpClass, ClassesHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < profile::kClasses; ++i) {
    names.insert(to_string(static_cast<profile::Class>(i)));
    EXPECT_FALSE(to_string(static_cast<profile::Class>(i)).empty()) << i;
  }
  EXPECT_EQ(names.size(), profile::kClasses);
  EXPECT_EQ(to_string(profile::Class::other), "other");
}

}  // namespace
}  // namespace halftone
