// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op wrong_square = elementwise_op({
    .name = "wrong_square",
    .cast = CastPolicy::keep,
    .forward = formula<1>([](auto x) { return x * x; }),
    .gradients = {{formula<2>([](auto dy, auto x) { return dy * x; }), {Operand::dy, Operand::x0}}},
    .examples = {},
});

TEST(Gradcheck, FindsAWrongGradientAndSaysWhere) {
  const Tensor x = from_values({0.001, 3}, float64).set_requires_grad();
  const auto result =
      gradcheck([](const std::vector<Tensor>& in) { return sum(halftone::apply(wrong_square, in)); }, {x});
  EXPECT_GT(result.worst, 0.1);
  EXPECT_EQ(result.where.rfind("input 0, element 1: backward 3, numeric 6", 0), 0U) << result.where;
}

TEST(Gradcheck, LeavesTheInputsAsTheyWere) {
  const Tensor x = from_values({1, 2}, float64).set_requires_grad();
  const auto result = gradcheck([](const std::vector<Tensor>& in) { return sum(mul(in[0], in[0])); }, {x});
  EXPECT_LT(result.worst, 1e-9);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{1, 2}));
}

TEST(Gradcheck, RefusesFloat32) {
  EXPECT_THROW(
      gradcheck([](const std::vector<Tensor>& in) { return sum(in[0]); }, {ones({2}).set_requires_grad()}),
      DTypeError);
}

TEST(Gradcheck, AForgottenGradientIsAnError) {
  const Tensor x = from_values({2}, float64).set_requires_grad();
  const Tensor w = from_values({3}, float64).set_requires_grad();
  const auto result =
      gradcheck([](const std::vector<Tensor>& in) { return sum(mul(in[0], in[1].detach())); }, {x, w});
  EXPECT_GT(result.worst, 0.5);
}

TEST(Gradcheck, SaysThatAnInputHasStrides) {
  const Tensor x = ones({2, 3}, float64).view({3, 2}, {1, 3}, 0).set_requires_grad();
  try {
    gradcheck([](const std::vector<Tensor>& in) { return sum(in[0]); }, {x});
    FAIL() << "elements are moved where they lie";
  } catch (const DTypeError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("[gradcheck] an input of float64 with strides (1, 3)", 0), 0U)
        << e.what();
  }
}

}  // namespace
}  // namespace halftone
