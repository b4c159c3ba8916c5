// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor leaf(std::initializer_list<double> values, DType dtype = float32) {
  return from_values(values, dtype).set_requires_grad();
}

TEST(Engine, FanInOfANarrowTensorIsSummedInFloat32) {
  // One bfloat16 activation used 1000 times: a sum in its own format would stop at 256.
  const Tensor w = leaf({1});
  const Tensor x = cast(w, bfloat16);
  Tensor total = sum(x);
  for (int i = 1; i < 1000; ++i) total = total + sum(x);
  total.backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, AParameterUsedAThousandTimesUnderAutocastHasTheWholeGradient) {
  const Tensor w = from_values(std::vector<double>{1}, {1, 1}).set_requires_grad(), one = ones({1, 1});
  amp::autocast(bfloat16, [&] {
    Tensor total = sum(matmul(one, w));
    for (int i = 1; i < 1000; ++i) total = total + sum(matmul(one, w));
    return total;
  }).backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, MicroBatchesAddUpInFloat32WhateverTheFormatOfTheLeaf) {
  const Tensor w = leaf({1}, bfloat16);
  for (int i = 0; i < 1000; ++i) sum(w).backward();
  EXPECT_EQ(w.grad().dtype(), float32);
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, AWeightGradientOverAThousandRowsIsExact) {
  // (1 x 1000) (1000 x 1) of ones in bfloat16: 1000, not 256.
  const Tensor w = ones({1, 1}).set_requires_grad();
  amp::autocast(bfloat16, [&] { return sum(linear(ones({1000, 1}), w)); }).backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, TheSameTensorTwiceInOneOpGetsBothGradients) {
  const Tensor x = leaf({3});
  mul(x, x).backward();
  EXPECT_EQ(x.grad().item(), 6);
}

TEST(Engine, AGradientSharedByTwoInputsIsNotAddedToTwice) {
  // add hands dy itself to both inputs; a sum in place into one must not show in the other.
  const Tensor a = leaf({1}), b = leaf({1});
  const Tensor y = add(scale(a, 1), scale(b, 1));
  sum(add(y, scale(y, 10))).backward();
  sum(a).backward();
  EXPECT_EQ(a.grad().item(), 12);
  EXPECT_EQ(b.grad().item(), 11);
}

TEST(Engine, GradientsOfADiamondComeInAnyOrderOfUse) {
  const Tensor x = leaf({2});
  const Tensor a = scale(x, 3), b = mul(a, x), c = add(b, a);  // c = 3x^2 + 3x
  c.backward();
  EXPECT_EQ(x.grad().item(), 15);
}

TEST(Engine, BackwardTwiceThroughOneGraphSaysWhatToDo) {
  const Tensor x = leaf({2});
  const Tensor y = mul(x, x);
  y.backward();
  try {
    y.backward();
    FAIL() << "a freed graph was used";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("computing the loss again"), std::string::npos) << e.what();
  }
  EXPECT_EQ(x.grad().item(), 4);
}

TEST(Engine, NeedsAScalarAndAGraph) {
  EXPECT_THROW(ones({1}).backward(), Error);
  EXPECT_THROW(scale(leaf({1, 2}), 2).backward(), ShapeError);
  const Tensor x = leaf({1, 2});
  backward(scale(x, 2), from_values({10, 100}));
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{20, 200}));
}

TEST(Engine, AnOperandModifiedInPlaceAfterForwardIsAnError) {
  Tensor x = leaf({2}), c = from_values({5});
  const Tensor y = mul(x, c);
  add_(c, ones({1}));
  EXPECT_THROW(y.backward(), Error);
}

TEST(Engine, ALongChainNeitherBuildsNorFreesByRecursion) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = scale(y, 1);
  y = Tensor();  // freed without backward
  y = x;
  for (int i = 0; i < 50000; ++i) y = scale(y, 1);
  y.backward();
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Engine, BackwardIsUntouchedByTheAutocastItRunsIn) {
  // The gradient 300 * 300 of an activation is 90112 in bfloat16 and infinite in float16; the region of the
  // forward pass decides.
  auto scalar = [](double value) { return from_values(std::vector<double>{value}, {1, 1}); };
  const Tensor x = scalar(1).set_requires_grad(), w = scalar(300);
  const Tensor loss =
      amp::autocast(bfloat16, [&] { return sum(matmul(matmul(matmul(x, scalar(1)), w), w)); });
  amp::autocast(float16, [&] { loss.backward(); });
  EXPECT_EQ(x.grad().item(), 90112);
}

}  // namespace
}  // namespace halftone
