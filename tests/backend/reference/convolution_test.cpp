// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/backend.h"

namespace halftone {
namespace {

const Backend& reference() { return find_backend("reference"); }

const Tensor& image() {  // 1 2 3 / 4 5 6 / 7 8 9
  static const Tensor x = from_values({1, 2, 3, 4, 5, 6, 7, 8, 9}).view({1, 3, 3, 1}, {9, 3, 1, 1}, 0);
  return x;
}
const Tensor& filter() {  // 1 10 / 100 1000
  static const Tensor f = from_values({1, 10, 100, 1000}).view({1, 2, 2, 1}, {4, 2, 1, 1}, 0);
  return f;
}

TEST(ReferenceConvolution, IsACorrelationOfImageAndFilter) {
  const Tensor y = empty({1, 2, 2, 1});
  reference().convolution({.image = image(), .filter = filter(), .bias = from_values({0.5}), .result = y});
  EXPECT_EQ(y.to_vector(), (std::vector<double>{5421.5, 6532.5, 8754.5, 9865.5}));
}

TEST(ReferenceConvolution, PaddingIsZeroAndStrideSkips) {
  const Tensor y = empty({1, 2, 2, 1});
  reference().convolution(
      {.image = image(), .filter = filter(), .bias = Tensor(), .result = y, .stride = 2, .padding = 1});
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1000, 3200, 7040, 9865}));
}

TEST(ReferenceConvolution, ChannelsAreSummedAndEachFilterMakesAChannel) {
  const Tensor x = from_values({1, 2}).view({1, 1, 1, 2}, {2, 2, 2, 1}, 0);
  const Tensor f = from_values({3, 4, 5, 6}).view({2, 1, 1, 2}, {2, 2, 2, 1}, 0), y = empty({1, 1, 1, 2});
  reference().convolution({.image = x, .filter = f, .bias = Tensor(), .result = y});
  EXPECT_EQ(y.to_vector(), (std::vector<double>{11, 17}));
}

TEST(ReferenceConvolution, TheImageGradientOverwritesAndSpreadsTheFilter) {
  const Tensor dx = full({1, 3, 3, 1}, 77),
               dy = from_values({1, 0, 0, 2}).view({1, 2, 2, 1}, {4, 2, 1, 1}, 0);
  reference().convolution_image_gradient({.image = dx, .filter = filter(), .bias = Tensor(), .result = dy});
  EXPECT_EQ(dx.to_vector(), (std::vector<double>{1, 10, 0, 100, 1002, 20, 0, 200, 2000}));
}

TEST(ReferenceConvolution, TheFilterGradientAccumulatesWhenAsked) {
  const Tensor df = full({1, 2, 2, 1}, 1000),
               dy = from_values({1, 0, 0, 2}).view({1, 2, 2, 1}, {4, 2, 1, 1}, 0);
  reference().convolution_filter_gradient(
      {.image = image(), .filter = df, .bias = Tensor(), .result = dy, .accumulate = true});
  EXPECT_EQ(df.to_vector(), (std::vector<double>{1011, 1014, 1020, 1023}));
  reference().convolution_filter_gradient({.image = image(), .filter = df, .bias = Tensor(), .result = dy});
  EXPECT_EQ(df.to_vector(), (std::vector<double>{11, 14, 20, 23}));
}

}  // namespace
}  // namespace halftone
