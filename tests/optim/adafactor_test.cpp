// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "optim/follow.h"

namespace halftone::optim {
namespace {

double rms(const Values& values) { return norm(values) / std::sqrt(static_cast<double>(values.size())); }

// Algorithm 4 with sums over rows and columns, as the paper has it, of a matrix of `rows` rows; algorithm 5
// for rows = 0.
struct Formula {
  AdafactorOptions o;
  std::size_t rows;
  Values row, column, v;

  void operator()(int t, const Values& g, Values& x) {
    const double beta = 1 - std::pow(t, -o.decay_power), rho = std::min(o.lr, 1 / std::sqrt(t));
    const std::size_t columns = rows > 0 ? x.size() / rows : 0;
    row.resize(rows), column.resize(columns), v.resize(x.size());
    if (rows > 0) {
      Values row_sum(rows), column_sum(columns);
      for (std::size_t i = 0; i < x.size(); ++i) {
        row_sum[i / columns] += g[i] * g[i] + o.epsilon1;
        column_sum[i % columns] += g[i] * g[i] + o.epsilon1;
      }
      double all = 0;
      for (std::size_t i = 0; i < rows; ++i) all += row[i] = beta * row[i] + (1 - beta) * row_sum[i];
      for (std::size_t j = 0; j < columns; ++j) column[j] = beta * column[j] + (1 - beta) * column_sum[j];
      for (std::size_t i = 0; i < x.size(); ++i) v[i] = row[i / columns] * column[i % columns] / all;
    } else {
      for (std::size_t i = 0; i < x.size(); ++i) v[i] = beta * v[i] + (1 - beta) * (g[i] * g[i] + o.epsilon1);
    }
    Values u(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) u[i] = g[i] / std::sqrt(v[i]);
    const double rate = rho * std::max(o.epsilon2, rms(x)) / std::max(1.0, rms(u) / o.clip_threshold);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= o.lr * o.weight_decay * x[i] + rate * u[i];
  }
};

TEST(Adafactor, FollowsAlgorithm4ForMatrices) {
  for (const Shape& shape : {Shape{7, 3001}, Shape{301, 5}, Shape{1, 10}, Shape{6, 3, 5, 5}}) {
    const AdafactorOptions o{.lr = 0.02, .clip_threshold = 0.9, .weight_decay = 0.1};
    const Tensor w = weights(shape);
    Adafactor optimizer({{"w", w}}, o);
    expect_follows(optimizer, Formula{o, static_cast<std::size_t>(shape[0]), {}, {}, {}}, 2e-6);
  }
}

TEST(Adafactor, FollowsAlgorithm5ForVectors) {
  const AdafactorOptions o{.lr = 0.9, .clip_threshold = 0.5};  // 0.9: from step 2 on, 1 / sqrt(t) is less
  const Tensor w = weights({3001});
  Adafactor optimizer({{"w", w}}, o);
  expect_follows(optimizer, Formula{o, 0, {}, {}, {}}, 2e-5);
}

// By hand: the first step has beta 0, so v of [[1, 2], [2, 4]] (of rank one) is its squares, and u all ones.
// rms(w) is 2: every element moves by 0.01 * 2, up where the gradient is negative.
TEST(Adafactor, AMatrixOfRankOneIsFactoredExactly) {
  Tensor w = full({2, 2}, 2).set_requires_grad();
  Adafactor optimizer({{"w", w}});
  step_with(optimizer, w, {1, -2, 2, 4});
  EXPECT_THAT(w.to_vector(), ::testing::Pointwise(::testing::DoubleNear(1e-6), {1.98, 2.02, 1.98, 1.98}));
  for (const Parameter& entry : optimizer.state())
    EXPECT_THAT(entry.value.to_vector(), ::testing::Pointwise(::testing::DoubleNear(1e-6), {2.5, 10.0}))
        << entry.name;
}

TEST(Adafactor, AParameterOfZerosMovesAsOneOfTheLeastSize) {
  Tensor w = leaf({0, 0});
  Adafactor optimizer({{"w", w}}, {.lr = 0.5, .epsilon2 = 0.25});
  step_with(optimizer, w, {3, -4});
  EXPECT_THAT(w.to_vector(), ::testing::Pointwise(::testing::DoubleNear(1e-7), {-0.125, 0.125}));
}

// With a decay power of 0.1, 1 - t^-0.1 is below a half for the 500 steps of zeros: nothing is left of 3e38.
TEST(Adafactor, AGradientWhoseSquareLeavesTheFormatOfTheStateDoesNotFreezeTheWeight) {
  for (const Shape& shape : {Shape{2, 2}, Shape{4}})
    for (const DType state : {float32, bfloat16, float16}) {
      Tensor w = full(shape, 1).set_requires_grad();
      Adafactor optimizer({{"w", w}}, {.decay_power = 0.1, .state = state});
      step_with(optimizer, w, {1e25, 1, 0, 0});  // a row of zeros beside one of huge gradients
      for (int i = 0; i < 500; ++i) step_with(optimizer, w, {0, 0, 0, 0});
      for (const Parameter& entry : optimizer.state())
        for (const double mean : entry.value.to_vector()) EXPECT_LT(mean, 1) << entry.name;
      const std::vector<double> before = w.to_vector();
      step_with(optimizer, w, {-1, -1, -1, -1});
      const std::vector<double> after = w.to_vector();
      for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(after[i], before[i]) << state.name() << ' ' << i;
    }
}

TEST(Adafactor, ARowWithoutGradientsStaysBesideOneOfLargeOnes) {  // 1e10^2 to epsilon1 is no float32
  Tensor w = full({2, 2}, 1).set_requires_grad();
  Adafactor optimizer({{"w", w}});
  step_with(optimizer, w, {1e10, 1e10, 0, 0});
  const std::vector<double> after = w.to_vector();
  EXPECT_LT(after[0], 1);
  EXPECT_EQ(after[2], 1);
  EXPECT_EQ(after[3], 1);
}

TEST(Adafactor, KeepsARowAndAColumnOfMatrices) {
  Tensor matrix = weights({3, 5}), vector = weights({4}), narrow = random_normal({6, 7}, 1, 1, bfloat16);
  narrow.set_requires_grad();
  Adafactor optimizer({{"m", matrix}, {"v", vector}, {"n", narrow}},
                      {.master = MasterWeights::stochastic, .state = bfloat16});
  std::vector<std::string> seen;
  for (const Parameter& entry : optimizer.state())
    seen.push_back(entry.name + " " + std::string(entry.value.dtype().name()) + " " +
                   to_string(entry.value.shape()));
  EXPECT_THAT(seen, ::testing::ElementsAre("row.m float32 (3)", "row.n float32 (6)", "column.m float32 (5)",
                                           "column.n float32 (7)", "second.v bfloat16 (4)"));
}

}  // namespace
}  // namespace halftone::optim
