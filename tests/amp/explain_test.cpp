// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

TEST(Explain, SaysWhatWasCastWhereAndWhy) {
  Tensor w = full({2, 2}, 1).set_requires_grad();
  set_name(w, "up.weight");
  const Tensor x = full({3, 2}, 1);
  const std::vector<CastRecord> records = explain([&] {
    autocast(float16, [&] {
      const Tensor y = softmax(gelu(linear(x, w)));
      return y + cast(x, bfloat16);
    });
  });
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].op, "linear");
  EXPECT_EQ(records[0].layer, "up.weight");
  ASSERT_EQ(records[0].operands.size(), 2u);
  EXPECT_EQ(records[0].operands[1].from, float32);
  EXPECT_EQ(records[0].operands[1].to, float16);
  EXPECT_EQ(records[0].result, float16);
  EXPECT_EQ(records[1].result, float16);  // gelu
  EXPECT_EQ(records[2].result, float32);  // softmax
  EXPECT_EQ(records[3].op, "cast");
  EXPECT_EQ(records[4].op, "add");
  const std::string table = to_table(records);
  EXPECT_THAT(table, HasSubstr("up.weight"));
  EXPECT_THAT(table, HasSubstr("float32 -> float16, float32 -> float16"));
  EXPECT_THAT(table, HasSubstr("compute: operands cast to the compute format"));
  EXPECT_THAT(table, HasSubstr("inside_float32: computed in float32, stored in the compute format"));
  EXPECT_THAT(table, HasSubstr("float32: computed and stored in float32"));
  EXPECT_THAT(table, HasSubstr("keep: the format of the first operand"));
  EXPECT_THAT(table, HasSubstr("widest: the smallest format that holds all operands"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 6);
}

TEST(Explain, NamesOverridesAndShortOperands) {
  const Tensor x = full({1, 2}, 1), w = full({2, 2}, 1);
  const auto records = explain([&] {
    autocast(Casting(find_recipe("mxfp8")), [&] { linear(x, w); });
    override_cast("softmax", {.result = bfloat16}, [&] { softmax(x); });
  });
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(reason(records[0]), "compute: operands rounded to the recipe's short formats");
  EXPECT_EQ(reason(records[1]), "float32 (overridden): computed and stored in float32");
  EXPECT_EQ(records[1].result, bfloat16);
}

TEST(Explain, SeesNothingOutside) {
  relu(full({1}, 1));
  EXPECT_TRUE(explain([] {}).empty());
  EXPECT_EQ(to_table({}), "op  layer  operands  result  why\n");
}

}  // namespace
}  // namespace halftone::amp
