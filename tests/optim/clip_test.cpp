// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/optim.h"

namespace halftone::optim {
namespace {

struct Clip : ::testing::Test {
  Tensor a = leaf({0}), b = leaf({0});
  SGD optimizer{{{"a", a}, {"b", b}}};
  void gradients(double of_a, double of_b) {
    optimizer.zero_grad();
    loss_with_gradient(a, {of_a}).backward();
    loss_with_gradient(b, {of_b}).backward();
  }
};

TEST_F(Clip, ScalesTheJointNormDown) {  // fault B5
  gradients(3, 4);
  EXPECT_EQ(clip_grad_norm(optimizer, 1), 5);
  EXPECT_FLOAT_EQ(static_cast<float>(a.grad().item()), 0.6f);
  EXPECT_FLOAT_EQ(static_cast<float>(b.grad().item()), 0.8f);
}

TEST_F(Clip, LeavesSmallGradientsAlone) {
  gradients(3, 4);
  EXPECT_EQ(clip_grad_norm(optimizer, 5), 5);
  EXPECT_EQ(a.grad().item(), 3);
  EXPECT_EQ(b.grad().item(), 4);
}

TEST_F(Clip, DoesNotSquareInFloat16) {  // fault D16: 300^2 and 5000^2 do not fit it
  for (const double gradient : {300.0, 5000.0}) {
    Tensor w = leaf({1}, float16);
    SGD narrow({{"w", w}});
    loss_with_gradient(w, {gradient}).backward();
    EXPECT_EQ(clip_grad_norm(narrow, 1), gradient);
    EXPECT_FLOAT_EQ(static_cast<float>(w.grad().item()), 1);
  }
}

TEST_F(Clip, DoesNotOverflowOnLargeGradients) {
  gradients(3e38, 0);
  EXPECT_NEAR(clip_grad_norm(optimizer, 1) / 3e38, 1, 1e-6);
  EXPECT_FLOAT_EQ(static_cast<float>(a.grad().item()), 1);
}

TEST_F(Clip, RefusesANormThatIsNotFinite) {
  gradients(3, kNan);
  EXPECT_THROW(clip_grad_norm(optimizer, 1), NonFiniteError);
  EXPECT_THAT(message_of([&] { clip_grad_norm(optimizer, 1); }),
              ::testing::HasSubstr("b: 0 inf, 1 NaN of 1"));
  EXPECT_EQ(a.grad().item(), 3);
}

TEST_F(Clip, WithoutGradientsTheNormIsZero) { EXPECT_EQ(clip_grad_norm(optimizer, 1), 0); }

TEST_F(Clip, NeedsAPositiveNorm) {
  for (const double bad : {0.0, -1.0, kInf, kNan})
    EXPECT_THROW(clip_grad_norm(optimizer, bad), ValueError) << bad;
}

}  // namespace
}  // namespace halftone::optim
