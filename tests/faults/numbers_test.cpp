// SPDX-License-Identifier: Apache-2.0
//
// Numbers on their way through ops: promotion (fault C11), one stated rounding (D31, C17, C21), integers as
// positions (C15), running averages (D17), an overflow made visible at the op (D5), and gradients whose sum
// or square does not fit where they do (B14, E11).
#include <gtest/gtest.h>

#include <cmath>

#include "faults/support.h"
#include "halftone/optim.h"
#include "halftone/random.h"

namespace halftone {
namespace {

TEST(Promotion, HoldsBothOperandsOfEveryPair) {  // fault C11: float16 with bfloat16 is float32
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  for (const DType a : signed_formats())
    for (const DType b : signed_formats())
      for (const bool inside : {false, true}) {
        const amp::AutocastScope scope(inside ? bfloat16 : float32);
        SCOPED_TRACE(testing::Message() << a.name() << " with " << b.name());
        const double ends[] = {max_finite(a.format()), min_subnormal(a.format()), max_finite(b.format()),
                               min_subnormal(b.format())};
        for (const Binary op : {Binary(add), Binary(sub), Binary(mul), Binary(div)}) {
          const DType result = op(ones({1}, a), ones({1}, b)).dtype();
          EXPECT_EQ(op(ones({1}, b), ones({1}, a)).dtype(), result);
          for (const double end : ends) ASSERT_EQ(stored(end, result), end) << result.name();
        }
      }
  const Tensor y = ones({1}, float16) + full({1}, 2, bfloat16);
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_EQ(y.item(), 3);
}

TEST(Promotion, ConcatAndWhereHoldAllTheirOperands) {  // fault C11: concat(float16 [1], bfloat16 [2])
  const Tensor half = ones({1}, float16), brain = full({1}, 2, bfloat16);
  for (const bool inside : {false, true}) {
    const amp::AutocastScope scope(inside ? float16 : float32);
    const Tensor joined = concat({half, brain});
    EXPECT_EQ(joined.dtype(), float32);
    EXPECT_EQ(joined.to_vector(), (std::vector<double>{1, 2}));
    EXPECT_EQ(where(from_values({0, 1}, uint8), half, brain).to_vector(), (std::vector<double>{2, 1}));
    EXPECT_EQ(where(ones({1}, uint8), half, brain).dtype(), float32);
    EXPECT_EQ(concat({half, half}).dtype(), float16);
  }
  std::vector<Tensor> many;  // more than an op takes
  Tensor shared = leaf({3}, bfloat16);
  for (int i = 0; i < 50; ++i) many.push_back(i % 2 == 0 ? shared : full({1}, i, bfloat16));
  const Tensor joined = concat(many), stacked = stack(many, 1);
  ASSERT_EQ(joined.shape(), (Shape{50}));
  ASSERT_EQ(stacked.shape(), (Shape{1, 50}));
  EXPECT_EQ(joined.to_vector(), stacked.to_vector());
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_EQ(joined.to_vector()[i], i % 2 == 0 ? 3 : static_cast<double>(i));
  sum(joined).backward();
  EXPECT_EQ(shared.grad().item(), 25);
  EXPECT_THROW(concat({}), ValueError);
  EXPECT_THROW(concat({ones({2, 2}), ones({2, 3})}), ShapeError);
  EXPECT_THROW(concat({ones({2})}, 1), ShapeError);
  EXPECT_THROW(stack({ones({2}), ones({3})}), ShapeError);
  EXPECT_THROW(where(ones({1}), half, brain), DTypeError);
}

TEST(Promotion, WhatWhereDoesNotTakeLeavesNoTrace) {  // kind of D2: 0 times infinity is NaN
  Tensor a = leaf({1, kNan, kInf}), b = leaf({kInf, 2, 3});
  const Tensor y = where(from_values({1, 0, 0}, uint8), a, b);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1, 2, 3}));
  sum(y * y).backward();
  EXPECT_EQ(a.grad().to_vector(), (std::vector<double>{2, 0, 0}));
  EXPECT_EQ(b.grad().to_vector(), (std::vector<double>{0, 4, 6}));
}

TEST(OneRounding, SoftmaxIsTheExactOneRoundedOnce) {  // faults D31, C21
  for (const DType dtype : signed_formats()) {
    if (dtype == float64) continue;
    const Tensor x = random_normal({20, 64}, 3, streams::example, dtype);
    Tensor columns =
        transpose(x, 0, 1).detach().set_requires_grad();  // along the first axis of what is stored
    const std::vector<double> wide = softmax(cast(transpose(columns, 0, 1), float64)).to_vector();
    const Tensor narrow = cast(softmax(transpose(columns, 0, 1)), dtype);
    const std::vector<double> got = narrow.to_vector();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double exact = stored(wide[i], dtype), step = std::abs(exact) * epsilon(dtype.format());
      const double steps = dtype == float32 ? 4 : 1;  // of the exponential itself
      ASSERT_NEAR(got[i], exact, steps * std::max(step, min_subnormal(dtype.format()))) << dtype.name();
    }
    sum(narrow * narrow).backward();
    for (const double v : columns.grad().to_vector()) ASSERT_TRUE(std::isfinite(v));
  }
}

TEST(Positions, AreIntegersUntilTheyAreCast) {  // fault C15: 257 is no bfloat16 number, 2049 no float16 one
  EXPECT_EQ(stored(257, bfloat16), 256);
  EXPECT_EQ(stored(259, bfloat16), 260);
  EXPECT_EQ(stored(2049, float16), 2048);
  std::vector<double> count(70000);
  for (std::size_t i = 0; i < count.size(); ++i) count[i] = static_cast<double>(i);
  const Tensor positions = from_values(count, {70000}, int32);
  const Tensor table = from_values(count, {70000, 1});  // a table of angles, say
  for (const DType compute : {float16, bfloat16, float8_e4m3fn})
    amp::autocast(compute, [&] {
      EXPECT_EQ(embedding(table, positions).to_vector(), count) << "autocast touches no integer and no table";
      EXPECT_EQ(reshape(positions, {-1, 1}).dtype(), int32);
      EXPECT_EQ((cast(positions, float32) + full({1}, 1)).to_vector()[69999], 70000);
    });
}

TEST(RunningAverages, MoveInFloat32) {  // fault D17: in bfloat16 0.999 is 1
  for (const DType dtype : {bfloat16, float16, float8_e4m3fn})
    for (const auto& [momentum, expected] : {std::pair{0.001, 1.99995}, std::pair{0.0001, 1.63214}}) {
      const Tensor average = ones({1}), variance = ones({1}), x = full({2, 1}, 2, dtype);
      const Tensor one = ones({1}), none = zeros({1});
      amp::autocast(dtype, [&, momentum = momentum] {
        for (int i = 0; i < 10000; ++i) batch_norm(x, one, none, average, variance, momentum);
      });
      EXPECT_NEAR(average.item(), expected, 1e-4) << dtype.name();
    }
}

TEST(Overflows, CanBeReadInFloat32AtTheOpThatMakesThem) {     // fault D5
  const Tensor a = full({1, 2}, 182), b = full({2, 1}, 182);  // 66248, beyond float16
  EXPECT_EQ(amp::autocast(float16, [&] { return matmul(a, b); }).item(), kInf);
  EXPECT_EQ(amp::autocast(bfloat16, [&] { return matmul(a, b); }).item(), 66048);
  const Tensor wide = amp::override_cast(
      "matmul", {.result = float32}, [&] { return amp::autocast(float16, [&] { return matmul(a, b); }); });
  EXPECT_EQ(wide.item(), 66248);
  const NonFiniteWatch watch;
  amp::autocast(float16, [&] { return layer_norm(matmul(a, b), ones({1}), zeros({1})); });
  ASSERT_TRUE(watch.first());
  EXPECT_EQ(watch.first()->op, "matmul");
}

TEST(LargeGradients, AreJudgedElementByElementAfterTheyAreSummed) {  // faults B14, E11
  // Two lookups of one row, 40000 each: 80000 is no float16 number, but a float32 gradient.
  Tensor table = leaf({2, 1}, 0, float16);
  backward(embedding(table, zeros({2}, int32)), full({2, 1}, 40000, float16));
  EXPECT_EQ(table.grad().to_vector(), (std::vector<double>{80000, 0}));

  Tensor w = leaf({2}, 0);
  optim::SGD optimizer({{"w", w}}, {.lr = 1});
  amp::GradScaler scaler({.enabled = false});
  backward(scaler.scale(sum(w * full({2}, 3e38f))));
  EXPECT_TRUE(scaler.step(optimizer).applied()) << "their sum is infinite; they are not";
  EXPECT_EQ(w.to_vector()[1], -static_cast<double>(3e38f));
}

TEST(TokenWeights, ALossOverAllTokensIsNoMeanOfMeans) {  // fault D22
  // Micro-batches with the token losses [4] and [0, 0, 0]: 1, where the mean of means says 2.
  Tensor w = leaf({1}, 1);
  const double totals[] = {4, 0}, tokens[] = {1, 3};
  double loss = 0;
  for (int i = 0; i < 2; ++i) {
    const Tensor part = scale(sum(w * full({1}, totals[i])), 1 / (tokens[0] + tokens[1]));
    loss += part.item();
    part.backward();
  }
  EXPECT_EQ(loss, 1);
  EXPECT_EQ(w.grad().item(), 1);
}

}  // namespace
}  // namespace halftone
