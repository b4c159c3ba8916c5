// SPDX-License-Identifier: Apache-2.0
//
// The parts that second derivatives are made of; their own derivatives, and those of the ops behind the
// catalogue, go through gradients_test.cpp.
#include "op/differentiate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halftone/ops.h"

namespace halftone {
namespace {

using Values = std::vector<double>;

TEST(Differentiate, WideningIsExactAndKeepsWhatIsWide) {
  const Tensor narrow = from_values({1.5, -3}, float16), wide = from_values({0.1}, float64);
  EXPECT_EQ(widened(narrow).dtype(), float32);
  EXPECT_EQ(widened(narrow).to_vector(), narrow.to_vector());
  EXPECT_EQ(widened(wide).dtype(), float64);
  EXPECT_EQ(widened(from_values({7}, int32)).dtype(), int32);
  EXPECT_FALSE(widened({}));
}

TEST(Differentiate, SummingOntoAShapeUndoesSpreading) {
  const Tensor x = from_values(Values{1, 2, 3}, {1, 3, 1});
  const Tensor wide = spread(x, {2, 3, 2});
  EXPECT_EQ(wide.to_vector(), (Values{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(summed_onto(wide, {1, 3, 1}).to_vector(), (Values{4, 8, 12}));
  EXPECT_EQ(summed_onto(wide, {3, 1}).shape(), (Shape{3, 1}));
  EXPECT_EQ(summed_onto(wide, {}).item(), 24);
  EXPECT_EQ(summed_onto(ones({1, 2}), {2}).shape(), (Shape{2}));
}

TEST(Differentiate, SelectHidesInfinities) {
  // A product with the mask would make NaN of them, where backward's gradient is 0.
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = from_values({inf, 2, inf}).set_requires_grad(), mask = from_values({0, 1, 1}, uint8);
  const Tensor y = select(x, mask);
  EXPECT_EQ(y.to_vector(), (Values{0, 2, inf}));
  const std::vector<Tensor> g = gradients(y, {x}, {.create_graph = true}, from_values({inf, 5, 6}));
  EXPECT_EQ(g[0].to_vector(), (Values{0, 5, 6}));
}

TEST(Differentiate, AReluPassesNothingWhereItWasZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = from_values({-1, 0, 2}).set_requires_grad();
  EXPECT_EQ(gradients(relu(x), {x}, {.create_graph = true}, full({3}, inf))[0].to_vector(),
            (Values{0, 0, inf}));
}

TEST(Differentiate, AProductHasTheFormatAskedFor) {
  // 1 + 2^-9 is exact in float32 only.
  const Tensor a = from_values(Values{1, 0x1p-9}, {1, 2}, bfloat16), b = ones({2, 1}, bfloat16);
  EXPECT_EQ(product(a, b, float32).item(), 1 + 0x1p-9);
  EXPECT_EQ(product(a, b, bfloat16).item(), 1);
  EXPECT_EQ(joined_rows(ones({2, 3, 4})).shape(), (Shape{6, 4}));
  EXPECT_EQ(exchanged(ones({2, 3, 4})).shape(), (Shape{2, 4, 3}));
}

TEST(Differentiate, NormalisedRowsHaveMeanZeroAndVarianceOne) {
  const Normalised n = normalised(from_values(Values{1, 3, 300, 100}, {2, 2}), {-1}, 0);
  EXPECT_EQ(n.h.to_vector(), (Values{-1, 1, 1, -1}));
  EXPECT_EQ(n.inverse.to_vector(), (Values{1, static_cast<double>(0.01f)}));
}

// Third derivatives: those of the ops that only second derivatives use.
TEST(Differentiate, TheOpsBehindTheCatalogueCanBeDifferentiatedTwice) {
  const Tensor image = random_normal({1, 4, 4, 2}, 1, 1, float64).set_requires_grad();
  const Tensor filter = random_normal({2, 3, 3, 2}, 2, 1, float64).set_requires_grad();
  const Tensor table = random_normal({3, 2}, 3, 1, float64).set_requires_grad();
  const Tensor indices = from_values({2, 0, 2, 1}, int32);
  auto cube = [](const Tensor& y) { return sum(y * y * y); };
  auto twice = [&](const std::function<Tensor(const std::vector<Tensor>&)>& fn,
                   const std::vector<Tensor>& inputs) {
    const auto result = gradcheck(
        [&](const std::vector<Tensor>& in) {
          const Tensor first = cube(gradients(cube(fn(in)), {in[0]}, {.create_graph = true})[0]);
          return cube(gradients(first, {in[0]}, {.create_graph = true})[0]);
        },
        inputs, 1e-6);
    // The numbers are large: compare with their size.
    EXPECT_LT(result.worst, 1e-4) << result.where;
  };
  auto small = [](const Tensor& x) { return scale(x, 0.1); };
  twice([&](const auto& in) { return small(conv2d(in[0], in[1], {}, 1, 1)); }, {image, filter});
  twice([&](const auto& in) { return small(conv2d(in[1], in[0], {}, 2, 1)); }, {filter, image});
  twice([&](const auto& in) { return small(embedding(in[0], indices)); }, {table});
  twice([&](const auto& in) { return small(slice(in[0], 0, 1, 3)); }, {table});
  twice([&](const auto& in) { return small(gelu(in[0])); }, {table});
  const Tensor ones_like = ones({2}, float64), zeros_like = zeros({2}, float64);
  twice([&](const auto& in) { return small(layer_norm(in[0], ones_like, zeros_like)); },
        {random_normal({2, 2}, 5, 1, float64).set_requires_grad()});
}

TEST(Differentiate, ARowOfMinusInfinityAloneIsMasked) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor x = from_values(Values{1, -inf, 3, -inf, -inf, -inf, nan, -inf, -inf}, {3, 3});
  EXPECT_EQ(row_peaks(x).shape(), (Shape{3, 1}));
  EXPECT_EQ(row_peaks(x).to_vector()[0], 3);
  EXPECT_EQ(not_masked(x).to_vector(), (Values{1, 0, 1}));
}

}  // namespace
}  // namespace halftone
