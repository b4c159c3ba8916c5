// SPDX-License-Identifier: Apache-2.0
//
// mse_loss: mean of (x - t)^2;  dx = 2 dy (x - t) / count.
#include "halftone/ops.h"
#include "op/mean_loss.h"

namespace halftone {
namespace {

constexpr Formula kValue = formula<2>([](auto x, auto t) { return (x - t) * (x - t); });
constexpr Formula kGradient =
    formula<3>([](auto x, auto t, auto dy, const auto* p) { return 2 * dy * p[0] * (x - t); });

const Op mse_loss_op = mean_loss_op(
    "mse_loss", kValue, kGradient,
    [] {
      return std::vector<Example>{{{{{3, 5}}, {{3, 5}, -1, 1, float32, false}}}};
    },
    [](const DifferentiateCall& call) {
      const Tensor &x = call.inputs[0], &t = call.inputs[1];
      return std::vector{(x - t) * scale(call.gradient, 2.0 / static_cast<double>(x.count()))};
    });
const Register registered(mse_loss_op);

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target) {
  check_loss("mse_loss", x, target);
  return apply(mse_loss_op, {x, target});
}

}  // namespace halftone
