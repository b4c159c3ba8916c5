// SPDX-License-Identifier: Apache-2.0
//
// binary_cross_entropy_with_logits: mean of  max(x, 0) - x t + ln(1 + e^-|x|), which never forms a
// probability; dx = dy (sigmoid(x) - t) / count.
#include <cmath>

#include "halftone/ops.h"
#include "op/mean_loss.h"

namespace halftone {
namespace {

constexpr Formula kValue =
    formula<2>([](auto x, auto t) { return (x > 0 ? x : 0) - x * t + std::log1p(std::exp(-std::abs(x))); });
constexpr Formula kGradient = formula<3>(
    [](auto x, auto t, auto dy, const auto* p) { return dy * p[0] * (1 / (1 + std::exp(-x)) - t); });

const Op bce_op = mean_loss_op(
    "binary_cross_entropy_with_logits", kValue, kGradient,
    [] {
      return std::vector<Example>{{{{{3, 5}, -4, 4}, {{3, 5}, 0, 1, float32, false}}}};
    },
    [](const DifferentiateCall& call) {
      const Tensor &x = call.inputs[0], &t = call.inputs[1];
      return std::vector{(sigmoid(x) - t) * scale(call.gradient, 1.0 / static_cast<double>(x.count()))};
    });
const Register registered(bce_op);

}  // namespace

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target) {
  check_loss("binary_cross_entropy_with_logits", logits, target);
  return apply(bce_op, {logits, target});
}

}  // namespace halftone
