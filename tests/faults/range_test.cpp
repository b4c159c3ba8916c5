// SPDX-License-Identifier: Apache-2.0
//
// The ends of the range. Every op there is runs on the largest and the smallest values of every format, and
// must give what its own formula gives in double: a square, a sum or an exponential that leaves the format on
// the way shows as an infinity, a NaN or a zero where double has a number. Faults D5, D6, D7, D16, C12, E11
// and their siblings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "faults/support.h"
#include "halftone/op.h"
#include "halftone/optim.h"
#include "halftone/random.h"

namespace halftone {
namespace {

// The largest value to try in a format: its own, but no more than 2^125, so that a difference or a sum of two
// stays within the float32 that ops compute in.
double top(DType dtype) { return std::min(max_finite(dtype.format()), 0x1p125); }

// Signs and sizes in turn, so that every operand meets every end.
Tensor ends(const Op& op, const ExampleInput& spec, std::size_t index, DType dtype, double largest) {
  const Format& f = dtype.format();
  const double pattern[] = {largest,          -largest, min_subnormal(f), 1, std::min(300.0, largest),
                            -min_subnormal(f)};
  Tensor values = random_uniform(spec.shape, spec.low, spec.high, 11 + index, streams::example, float64);
  std::vector<double> list = values.to_vector();
  const bool signs =
      spec.low < 0 && op.name != "sum" && op.name != "mean";  // what cancels is not the subject
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!spec.dtype.is_floating()) list[i] = std::floor(list[i]);
    if (!spec.dtype.is_floating() || !spec.differentiable || index >= static_cast<std::size_t>(op.operands))
      continue;
    list[i] = pattern[(i * (2 * index + 1) + index) % std::size(pattern)];
    if (!signs) list[i] = std::abs(list[i]);
  }
  if (!spec.dtype.is_floating()) return from_values(list, spec.shape, spec.dtype);
  return from_values(list, spec.shape, dtype);
}

struct Outcome {
  Tensor value;
  std::vector<Tensor> gradients;
};

Outcome run(const Op& op, const Example& example, DType values, DType dtype, double largest) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    Tensor x = ends(op, example.inputs[i], i, values, largest);
    if (x.dtype().is_floating()) x = cast(x, dtype);
    if (example.inputs[i].differentiable && x.dtype().is_floating()) x.set_requires_grad();
    inputs.push_back(x);
  }
  manual_seed(7);
  Outcome outcome{apply(op, inputs, example.options), {}};
  const Tensor gradient = random_uniform(outcome.value.shape(), 0.5, 1.5, 5, streams::example, values);
  backward(outcome.value, cast(gradient, outcome.value.dtype()));
  for (const Tensor& x : inputs) outcome.gradients.push_back(x.grad());
  return outcome;
}

// got is exact, rounded into `stored_in`: the same infinities and NaNs, and numbers within `tolerance` times
// the largest of them (or of what was added up) and the roundoff of `precision`.
void expect_rounded(const Tensor& got, const Tensor& exact, DType stored_in, DType precision, double largest,
                    double tolerance) {
  const std::vector<double> x = got.to_vector(), y = cast(exact, stored_in).to_vector();
  ASSERT_EQ(x.size(), y.size());
  for (const double v : y) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  const double bound =
      tolerance * epsilon(precision.format()) / 2 * largest + min_subnormal(stored_in.format());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool equal = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    EXPECT_TRUE(equal || std::abs(x[i] - y[i]) <= bound)
        << "element " << i << ": " << x[i] << " instead of " << y[i];
  }
}

class EndsOfTheRange : public testing::TestWithParam<DType> {
 protected:
  DType format() const { return GetParam(); }
};

TEST_P(EndsOfTheRange, EveryOpGivesWhatItsFormulaGivesInDouble) {
  int ops = 0;
  if (format() == float64) return;  // is the oracle
  for (const Op* op : registered_ops()) {
    if (op->name == "binary_cross_entropy" || op->name == "cast") continue;  // refused; its own format
    const bool product = op->cast == CastPolicy::compute;  // of two: sums of squares have to fit float32
    const double largest = product ? std::exp2(std::floor(std::log2(top(format())) / 2)) : top(format());
    for (const Example& example : op->examples()) {
      SCOPED_TRACE(op->name);
      const Outcome narrow = run(*op, example, format(), format(), largest),
                    wide = run(*op, example, format(), float64, largest);
      const double tolerance = 64 * example.tolerance, added = product ? largest * largest : 0;
      {
        SCOPED_TRACE("value");
        expect_rounded(narrow.value, wide.value, narrow.value.dtype(), format(), added, tolerance);
      }
      for (std::size_t i = 0; i < narrow.gradients.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "gradient of input " << i);
        if (narrow.gradients[i])
          expect_rounded(narrow.gradients[i], wide.gradients[i], float32, format(), added, tolerance);
      }
      ++ops;
    }
  }
  EXPECT_GE(ops, 30);
}

TEST_P(EndsOfTheRange, TheMeanOfTheLargestIsTheLargest) {  // fault D7: not even on the way
  const double largest = max_finite(format().format());
  if (format() == float64) return;  // is added up in double: two of the largest are infinite
  for (const Shape& shape : {Shape{2}, Shape{5000}, Shape{300, 3}, Shape{3, 300}, Shape{2, 3, 4}})
    for (const std::vector<int>& axes : {std::vector<int>{}, std::vector<int>{0}, std::vector<int>{-1}})
      for (const double v : mean(full(shape, largest, format()), axes).to_vector())
        ASSERT_EQ(v, largest) << to_string(shape);
  const double sixteenth = largest / 16;  // windows are added up in float32
  EXPECT_EQ(avg_pool2d(full({1, 4, 4, 3}, sixteenth, format()), 4).to_vector()[0],
            stored(sixteenth, format()));
}

TEST_P(EndsOfTheRange, NormsKeepTheShapeOfARow) {  // fault D6: 300 and -300 squared in float16 make zeros
  for (const double magnitude : {300.0, top(format())}) {
    if (magnitude > max_finite(format().format())) continue;
    const Tensor one = ones({2}), none = zeros({2});
    const std::vector<double> expected{1, -1};
    const Tensor line = row({magnitude, -magnitude}, format());
    EXPECT_EQ(layer_norm(line, one, none, 1e-30).to_vector(), expected) << magnitude;
    const Tensor column = reshape(line, {2, 1});
    const Tensor running = ones({1});
    EXPECT_EQ(batch_norm(column, ones({1}), zeros({1}), zeros({1}), running, 0.1, 1e-30).to_vector(),
              expected)
        << magnitude;
    EXPECT_TRUE(std::isfinite(running.item())) << magnitude;  // infinity would stay for good
  }
}

TEST_P(EndsOfTheRange, LossesOfTheLargestLogitsAreRight) {
  const double largest = max_finite(format().format()), rest = std::exp(-largest);
  Tensor logits = leaf({largest, 0}, format());
  const Tensor loss = binary_cross_entropy_with_logits(logits, from_values({0, 1}, format()));
  const double expected = (largest + std::log1p(rest) + std::log(2)) / 2;
  EXPECT_NEAR(loss.item() / expected, 1, 1e-6);
  loss.backward();
  EXPECT_NEAR(logits.grad().to_vector()[0], 0.5 / (1 + rest), 1e-6);
  EXPECT_EQ(logits.grad().to_vector()[1], -0.25);

  Tensor classes = row({largest, 0, 0}, format()).set_requires_grad();
  const Tensor entropy = cross_entropy(classes, from_values({2}, int32));
  EXPECT_NEAR(entropy.item() / (largest + std::log1p(2 * rest)), 1, 1e-6);
  entropy.backward();
  const double share = rest / (1 + 2 * rest);
  const std::vector<double> gradient = classes.grad().to_vector();
  EXPECT_NEAR(gradient[0], 1 - 2 * share, 1e-6);
  EXPECT_NEAR(gradient[1], share, 1e-6);
  EXPECT_NEAR(gradient[2], share - 1, 1e-6);
}

TEST_P(EndsOfTheRange, ASquaredErrorKeepsItsGradient) {
  const double largest = max_finite(format().format());
  Tensor x = leaf({largest, 0}, format());
  const Tensor loss = mse_loss(x, zeros({2}, format()));
  // 3e38 squared has no float32: the loss is infinite and says so; its gradient is finite all the same.
  EXPECT_TRUE(same(loss.item(), stored(largest * largest / 2, format() == float64 ? float64 : float32)));
  loss.backward();
  EXPECT_EQ(x.grad().to_vector()[0], largest);
}

INSTANTIATE_TEST_SUITE_P(Of, EndsOfTheRange, testing::ValuesIn(signed_formats()), name_of_format);

}  // namespace
}  // namespace halftone
