// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "halftone/amp.h"
#include "halftone/nn.h"

namespace halftone::nn {
namespace {

constexpr int kBatch = 2, kContext = 5, kWidth = 6, kHeads = 3, kHead = kWidth / kHeads;

using Row = std::vector<double>;

// y = W x + b for one row, from the elements.
Row affine(const Linear& layer, const double* x) {
  const Row weight = layer.weight.to_vector(), bias = layer.bias.to_vector();
  Row y(bias);
  const std::size_t in = weight.size() / bias.size();
  for (std::size_t o = 0; o < y.size(); ++o)
    for (std::size_t i = 0; i < in; ++i) y[o] += weight[o * in + i] * x[i];
  return y;
}

// The definition, query by query.
Row attend(const CausalSelfAttention& layer, const Row& x) {
  Row result;
  for (int b = 0; b < kBatch; ++b) {
    std::vector<Row> qkv;
    for (int t = 0; t < kContext; ++t) qkv.push_back(affine(layer.qkv, &x[(b * kContext + t) * kWidth]));
    for (int t = 0; t < kContext; ++t) {
      Row mixed(kWidth, 0.0);
      for (int h = 0; h < kHeads; ++h) {
        Row p;
        double total = 0;
        for (int s = 0; s <= t; ++s) {
          double score = 0;
          for (int i = 0; i < kHead; ++i) score += qkv[t][h * kHead + i] * qkv[s][kWidth + h * kHead + i];
          p.push_back(std::exp(score / std::sqrt(kHead)));
          total += p.back();
        }
        for (int s = 0; s <= t; ++s)
          for (int i = 0; i < kHead; ++i)
            mixed[h * kHead + i] += p[s] / total * qkv[s][2 * kWidth + h * kHead + i];
      }
      for (const double value : affine(layer.project, mixed.data())) result.push_back(value);
    }
  }
  return result;
}

TEST(Attention, AgreesWithItsDefinition) {
  manual_seed(4);
  const CausalSelfAttention layer(kWidth, kHeads);
  const Tensor x = random_normal({kBatch, kContext, kWidth}, 1, 1);
  const Tensor y = layer(x);
  ASSERT_EQ(y.shape(), x.shape());
  const Row expected = attend(layer, x.to_vector()), actual = y.to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
  const Row narrow = amp::autocast(bfloat16, [&] { return layer(x); }).to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(narrow[i], expected[i], 0.03) << i;
}

TEST(Attention, DoesNotLookAhead) {
  manual_seed(4);
  const CausalSelfAttention layer(kWidth, kHeads);
  Tensor x = random_normal({1, kContext, kWidth}, 1, 1);
  const Row before = layer(x).to_vector();
  x.mutable_data<float>()[3 * kWidth] += 10;  // a feature of token 3
  const Row after = layer(x).to_vector();
  for (std::size_t i = 0; i < 3 * kWidth; ++i) EXPECT_EQ(after[i], before[i]) << i;
  EXPECT_NE(after[3 * kWidth], before[3 * kWidth]);
}

TEST(Attention, EveryParameterHasAGradient) {
  CausalSelfAttention layer(kWidth, kHeads);
  const Tensor y = layer(random_normal({kBatch, kContext, kWidth}, 1, 1));
  sum(mul(y, random_normal(y.shape(), 1, 2))).backward();
  for (const Parameter& p : parameters(layer)) {
    ASSERT_TRUE(p.value.grad().defined()) << p.name;
    double most = 0;
    for (const double value : p.value.grad().to_vector()) most = std::max(most, std::abs(value));
    EXPECT_GT(most, 1e-6) << p.name;
  }
}

TEST(Attention, HeadsMustDivideTheWidth) {
  EXPECT_THROW(CausalSelfAttention(6, 4), ValueError);
  EXPECT_THROW(CausalSelfAttention(6, 0), ValueError);
  EXPECT_THROW(CausalSelfAttention(6, 3)(ones({1, 2, 5})), ShapeError);
}

}  // namespace
}  // namespace halftone::nn
