// SPDX-License-Identifier: Apache-2.0
#include "op/contraction.h"

#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(Contraction, TransposedIsAView) {
  const Tensor x = from_values(std::vector<double>{1, 2, 3, 4, 5, 6}, {1, 2, 3});
  EXPECT_EQ(transposed(x).shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(transposed(x).raw(), x.raw());
  EXPECT_EQ(transposed(x).to_vector(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Contraction, AMatrixIsCopiedOnlyWhenItMust) {
  const Backend& backend = *thread_state().backend;
  const Tensor x = ones({2, 3, 4});
  EXPECT_EQ(as_matrix(backend, x).raw(), x.raw());
  EXPECT_EQ(as_matrix(backend, x).shape(), (Shape{6, 4}));
  EXPECT_NE(as_matrix(backend, transpose(x, 0, 1)).raw(), x.raw());
}

TEST(Contraction, ASecondGradientIsAddedIntoTheFirstInPlace) {
  const Tensor w = ones({2, 3}).set_requires_grad(), x = ones({4, 3});
  sum(linear(x, w)).backward();
  const void* sum_bytes = w.grad().raw();
  sum(linear(x, w)).backward();
  EXPECT_EQ(w.grad().raw(), sum_bytes);
  EXPECT_EQ(w.grad().to_vector(), std::vector<double>(6, 8));
}

TEST(Contraction, ShapesThatDoNotFitAreNamed) {
  try {
    matmul(ones({2, 3}), ones({4, 5}));
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("[matmul] (2, 3) x (4, 5); expected", 0), 0U) << e.what();
  }
  EXPECT_THROW(matmul(ones({2, 2, 3}), ones({3, 3, 2})), ShapeError);
  EXPECT_THROW(linear(ones({2, 3}), ones({4, 5})), ShapeError);
  EXPECT_THROW(linear(ones({2, 3}), ones({4, 3}), ones({3})), ShapeError);
  EXPECT_THROW(conv2d(ones({1, 4, 4, 2}), ones({3, 3, 3, 1})), ShapeError);
  EXPECT_THROW(conv2d(ones({1, 2, 2, 1}), ones({3, 3, 3, 1})), ShapeError);
}

}  // namespace
}  // namespace halftone
