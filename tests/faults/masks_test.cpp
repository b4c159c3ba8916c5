// SPDX-License-Identifier: Apache-2.0
//
// Masks: constants too large for the format, two of them added, rows with nothing left, and targets that do
// not count. Faults D1 to D4 in every format that has an infinity; in one that has none, -1e9 is NaN (or the
// lowest value, if it has no NaN either), as the table in docs/formats.md says.
#include <gtest/gtest.h>

#include <cmath>

#include "faults/support.h"

namespace halftone {
namespace {

std::vector<DType> formats_with_infinity() {
  std::vector<DType> all;
  for (const DType dtype : signed_formats())
    if (std::isinf(stored(kInf, dtype))) all.push_back(dtype);
  return all;
}

class Masks : public testing::TestWithParam<DType> {
 protected:
  DType format() const { return GetParam(); }
};

TEST_P(Masks, AnyConstantHidesAScore) {  // fault D1
  const Tensor scores = row({1, 2}, format());
  for (const double constant : {-1e9, -1e10, -65504.0, -2.4e38, -kInf}) {
    const Tensor mask = row({0, constant}, format());
    for (const Tensor& masked : {scores + mask, scores + mask + mask}) {
      SCOPED_TRACE(to_string(masked));
      EXPECT_EQ(softmax(masked).to_vector(), (std::vector<double>{1, 0}));
      EXPECT_EQ(log_softmax(masked).to_vector()[0], 0);
      EXPECT_EQ(cross_entropy(masked, zeros({1}, int32)).item(), 0);
      Tensor x = cast(masked, format()).set_requires_grad();
      sum(softmax(x) * row({1, 3})).backward();
      sum(log_softmax(x) * row({1, 0})).backward();
      cross_entropy(x, zeros({1}, int32)).backward();
      EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{0, 0}));
    }
  }
}

TEST_P(Masks, ARowWithNothingLeftGivesZerosAndZeroGradients) {  // fault D2
  const Tensor nothing = row({-kInf, -kInf, -kInf}, format());
  Tensor x = nothing.detach().set_requires_grad();
  const Tensor p = softmax(x), logs = log_softmax(x);
  EXPECT_EQ(p.to_vector(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(logs.to_vector(), (std::vector<double>{-kInf, -kInf, -kInf})) << "the logarithms of those";
  sum(p * row({1, 2, 3})).backward();
  backward(logs, row({1, 2, 3}));
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{0, 0, 0}));

  // Shared weights that a masked row went through, too.
  Tensor weight = leaf({2, 3}, 1, format());
  const Tensor mask = from_values(std::vector<double>{0, 0, 0, -kInf, -kInf, -kInf}, {2, 3}, format());
  const Tensor two = from_values(std::vector<double>{1, 2, 3, 4}, {2, 2}, format());
  sum(softmax(matmul(two, weight) + mask) * row({1, 2, 4})).backward();
  for (const double v : weight.grad().to_vector()) EXPECT_TRUE(std::isfinite(v)) << v;
}

TEST_P(Masks, ANanIsNotHiddenByAMask) {  // masked is what is -infinity, not what is not finite
  for (const Tensor& x : {row({kNan, -kInf}, format()), row({-kInf, kNan}, format())}) {
    for (const double v : softmax(x).to_vector()) EXPECT_TRUE(std::isnan(v));
    EXPECT_TRUE(std::isnan(log_softmax(x).to_vector()[0]));
    EXPECT_TRUE(std::isnan(cross_entropy(x, zeros({1}, int32)).item()));
  }
}

TEST_P(Masks, AttentionSeesNoFutureHoweverLargeTheScores) {
  // Scores of the largest and the lowest value: the softmax of the first row has one key, whatever it says.
  const double largest = std::min(max_finite(format().format()), 0x1p60);
  std::vector<double> values(8, largest);
  for (std::size_t i = 1; i < values.size(); i += 2) values[i] = -largest;
  Tensor q = from_values(values, {1, 1, 4, 2}, format()).set_requires_grad();
  Tensor k = from_values(std::vector<double>(values.rbegin(), values.rend()), {1, 1, 4, 2}, format())
                 .set_requires_grad();
  Tensor v = leaf({1, 1, 4, 2}, 1, format());
  const Tensor y = attention(q, k, v, {.causal = true});
  for (const double element : y.to_vector()) EXPECT_NEAR(element, 1, epsilon(format().format()));
  sum(y).backward();
  for (const Tensor& gradient : {q.grad(), k.grad(), v.grad()})
    for (const double element : gradient.to_vector()) EXPECT_TRUE(std::isfinite(element));
}

TEST_P(Masks, AQueryThatSeesNoKeyGivesZerosAndZeroGradients) {  // fault D2
  const auto expect_zeros = [](const Tensor& x, std::size_t begin, std::size_t end) {
    const std::vector<double> values = x.to_vector();
    for (std::size_t i = begin; i < end; ++i) EXPECT_EQ(values[i], 0) << i;
  };
  for (const std::string_view backend : {"cpu", "reference"})
    with_backend(backend, [&] {
      // Five queries of which the last two see one and two keys; then a sequence without keys.
      Tensor q = leaf({1, 1, 5, 2}, 1, format()), k = leaf({1, 1, 2, 2}, 1, format()),
             v = leaf({1, 1, 2, 2}, 1, format());
      const Tensor y = attention(q, k, v, {.causal = true});
      EXPECT_EQ(y.to_vector(), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
      sum(y).backward();
      expect_zeros(q.grad(), 0, 6);
      EXPECT_EQ(v.grad().to_vector(), (std::vector<double>{1.5, 1.5, 0.5, 0.5}));
      Tensor qkv = leaf({2, 3, 6}, 1, format());
      const Tensor none = self_attention(qkv, 1, {.lengths = from_values({0, 3}, int32)});
      EXPECT_EQ(none.to_vector(), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
      sum(none).backward();
      expect_zeros(qkv.grad(), 0, 18);
    });
}

TEST_P(Masks, ANanIsNotHiddenByAttention) {
  for (const std::string_view backend : {"cpu", "reference"})
    with_backend(backend, [&] {
      // In key 1 of 3: query 0 does not see it.
      Tensor q = leaf({1, 1, 3, 1}, 1, format()), v = leaf({1, 1, 3, 1}, 1, format());
      Tensor k = from_values(std::vector<double>{1, kNan, 1}, {1, 1, 3, 1}, format()).set_requires_grad();
      const Tensor y = attention(q, k, v, {.causal = true});
      EXPECT_EQ(y.to_vector()[0], 1);
      EXPECT_TRUE(std::isnan(y.to_vector()[1]) && std::isnan(y.to_vector()[2]));
      sum(y).backward();
      EXPECT_TRUE(std::isnan(q.grad().to_vector()[1]) && std::isnan(v.grad().to_vector()[0]));
      // All keys of infinite distance: a row with nothing left.
      const Tensor far = from_values(std::vector<double>{-kInf, -kInf}, {1, 1, 2, 1}, format());
      EXPECT_EQ(attention(ones({1, 1, 1, 1}, format()), far, ones({1, 1, 2, 1}, format())).item(), 0);
    });
}

TEST_P(Masks, TargetsThatDoNotCountLeaveNoTrace) {  // faults D3, D4
  Tensor logits = leaf({2, 3}, 1, format());
  const Tensor loss = cross_entropy(logits, from_values({-100, -100}, int32));
  EXPECT_EQ(loss.item(), 0);
  loss.backward();
  EXPECT_EQ(logits.grad().to_vector(), std::vector<double>(6, 0));

  // Not even what is in their rows, nor the size of the batch.
  Tensor mixed =
      from_values(std::vector<double>{1, 1, kNan, kInf, 1, 1}, {3, 2}, format()).set_requires_grad();
  const Tensor half = cross_entropy(mixed, from_values({0, 7, 1}, int32), {.ignore_index = 7});
  EXPECT_FLOAT_EQ(static_cast<float>(half.item()), std::log(2.0f));
  half.backward();
  EXPECT_EQ(mixed.grad().to_vector(), (std::vector<double>{-0.25, 0.25, 0, 0, 0.25, -0.25}));

  // A class that is to be ignored is no class: it is in the denominator of no row as a target, and one out of
  // range is an error.
  EXPECT_THROW(cross_entropy(logits, from_values({0, 3}, int32)), ValueError);
  EXPECT_THROW(cross_entropy(logits, from_values({0, -1}, int32)), ValueError);
}

TEST_P(Masks, ATargetThatIsMaskedHasAnInfiniteLoss) {  // and not NaN: there is nothing undefined about it
  for (Tensor x : {row({0, -kInf}, format()), row({-kInf, -kInf}, format())}) {
    x.set_requires_grad();
    const Tensor loss = cross_entropy(x, from_values({1}, int32));
    EXPECT_EQ(loss.item(), kInf);
    loss.backward();
    for (const double v : x.grad().to_vector()) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST_P(Masks, GradientsAsGraphsAreThoseOfBackward) {
  // A masked class, a row with nothing left, and a row that does not count.
  const Tensor x =
      from_values(std::vector<double>{1, -kInf, 2, -kInf, -kInf, -kInf, kNan, kInf, 0}, {3, 3}, format())
          .set_requires_grad();
  const Tensor targets = from_values({0, 1, 7}, int32);
  for (const double z_loss : {0.0, 0.5}) {
    SCOPED_TRACE(z_loss);
    const auto gradient = [&](bool create_graph) {
      const Tensor loss = cross_entropy(x, targets, {.ignore_index = 7, .z_loss = z_loss});
      return gradients(loss, {x}, {create_graph})[0];
    };
    const Tensor graph = gradient(true);
    const std::vector<double> found = graph.to_vector(), expected = gradient(false).to_vector();
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 4e-6) << i;
    Tensor(x).zero_grad();
    sum(mul(graph, graph)).backward();
    const std::vector<double> second = x.grad().to_vector();
    EXPECT_NE(second[0], 0);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(second[i])) << i;
    for (std::size_t i = 3; i < 9; ++i) EXPECT_EQ(second[i], 0) << i;
  }
  const Tensor nothing = row({-kInf, -kInf, -kInf}, format()).set_requires_grad();
  const Tensor g = gradients(log_softmax(nothing), {nothing}, {.create_graph = true}, row({1, 2, 3}))[0];
  EXPECT_EQ(g.to_vector(), (std::vector<double>{0, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(In, Masks, testing::ValuesIn(formats_with_infinity()), name_of_format);

}  // namespace
}  // namespace halftone
