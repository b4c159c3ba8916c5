// SPDX-License-Identifier: Apache-2.0
#include "op/contraction.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

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

TEST(Contraction, RowsOfWidthZeroAreRows) {
  const Tensor x = zeros({2, 3, 0}).set_requires_grad(), w = zeros({2, 0}).set_requires_grad(),
               b = from_values({4, 5}).set_requires_grad();
  EXPECT_EQ(as_matrix(*thread_state().backend, x).shape(), (Shape{6, 0}));
  const Tensor y = linear(x, w, b);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5}));
  sum(y).backward();
  EXPECT_EQ(b.grad().to_vector(), (std::vector<double>{6, 6}));
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(matmul(zeros({2, 3, 0}), zeros({0, 1})).to_vector(), std::vector<double>(6, 0));
}

TEST(Contraction, AStrideOrAPaddingOutOfRangeIsNamed) {
  const Tensor image = ones({1, 4, 4, 1}), filter = ones({1, 3, 3, 1});
  for (const auto& [stride, padding] : {std::pair(0, 1), {1, -1}, {1, std::numeric_limits<int>::max()}}) {
    try {
      conv2d(image, filter, {}, stride, padding);
      ADD_FAILURE() << "accepted stride " << stride << ", padding " << padding;
    } catch (const ValueError& e) {
      EXPECT_EQ(std::string(e.what()).rfind("[conv2d] stride", 0), 0U) << e.what();
    }
  }
}

}  // namespace
}  // namespace halftone
