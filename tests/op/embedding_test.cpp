// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

using Values = std::vector<double>;

TEST(Embedding, IndicesMayHaveStrides) {
  const Tensor table = from_values(Values{0, 10, 20, 30}, {4, 1}).set_requires_grad();
  const Tensor tokens = from_values(Values{3, 1, 0, 2, 2, 0}, {2, 3}, int32);
  const Tensor y = embedding(table, slice(tokens, 1, 0, 2));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(y.to_vector(), (Values{30, 10, 20, 20}));
  sum(y).backward();
  EXPECT_EQ(table.grad().to_vector(), (Values{0, 1, 2, 1}));
}

TEST(Embedding, RowsMayBeEmpty) {
  const Tensor table = zeros({4, 0}).set_requires_grad();
  const Tensor y = embedding(table, from_values(Values{3, 1}, {2, 1}, int32));
  EXPECT_EQ(y.shape(), (Shape{2, 1, 0}));
  sum(y).backward();
  EXPECT_EQ(table.grad().shape(), table.shape());
}

TEST(Embedding, AnIndexOutOfRangeIsAnErrorOfTheOp) {
  try {
    embedding(ones({4, 2}), from_values({0, 4}, int32));
    FAIL() << "there are 4 rows";
  } catch (const ValueError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("[embedding] index 4 at position 1", 0), 0U) << e.what();
  }
}

}  // namespace
}  // namespace halftone
