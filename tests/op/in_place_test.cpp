// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/autograd.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(InPlace, TheDestinationKeepsItsFormat) {
  const Tensor x = zeros({2}, bfloat16);
  assign_(x, from_values({257, 1.5}));
  EXPECT_EQ(x.dtype(), bfloat16);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{256, 1.5}));
  const Tensor buffer = zeros({3});
  assign_(slice(buffer, 0, 1, 2), full({1}, 1.5, float16));
  EXPECT_EQ(buffer.to_vector(), (std::vector<double>{0, 1.5, 0}));
}

TEST(InPlace, TheVersionGrows) {
  const Tensor x = zeros({2});
  const auto version = x.version();
  add_(x, ones({}));
  EXPECT_GT(x.version(), version);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{1, 1}));
}

TEST(InPlace, TheGraphIsOffLimits) {
  const Tensor w = zeros({2}).set_requires_grad();
  EXPECT_THROW(add_(w, ones({2})), ValueError);
  no_grad([&] { add_(w, ones({2})); });
  EXPECT_EQ(w.to_vector()[0], 1);
  EXPECT_THROW(assign_(zeros({2}), ones({3})), ShapeError);
}

TEST(InPlace, TheSourceMayBeTheDestinationInAnotherOrder) {
  using Values = std::vector<double>;
  for (const char* backend : {"cpu", "reference"})
    with_backend(backend, [&] {
      const Tensor x = from_values({1, 2, 3, 4});
      assign_(slice(x, 0, 1, 4), slice(x, 0, 0, 3));
      EXPECT_EQ(x.to_vector(), (Values{1, 1, 2, 3})) << backend;
      const Tensor square = from_values(Values{1, 2, 3, 4}, {2, 2});
      add_(square, transpose(square, 0, 1));
      EXPECT_EQ(square.to_vector(), (Values{2, 5, 5, 8})) << backend;
      assign_(square, slice(square, 0, 1, 2));  // broadcast
      EXPECT_EQ(square.to_vector(), (Values{5, 8, 5, 8})) << backend;
      add_(square, square);
      EXPECT_EQ(square.to_vector(), (Values{10, 16, 10, 16})) << backend;
    });
}

}  // namespace
}  // namespace halftone
