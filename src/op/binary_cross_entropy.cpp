// SPDX-License-Identifier: Apache-2.0
//
// binary_cross_entropy of probabilities: mean of  -t ln p - (1 - t) ln(1 - p), each logarithm no less than
// -100; dp = dy (p - t) / (p (1 - p)) / count. On a narrow p it refuses: at p = 1e-5 the gradient is -1e5,
// beyond float16, and bfloat16 can not tell 1 - p from 1.
#include <algorithm>
#include <cmath>

#include "halftone/ops.h"
#include "op/mean_loss.h"

namespace halftone {
namespace {

constexpr Formula kValue = formula<2>([](auto p, auto t) {
  using Real = decltype(p);
  return -t * std::max(std::log(p), Real(-100)) - (1 - t) * std::max(std::log1p(-p), Real(-100));
});
constexpr Formula kGradient = formula<3>([](auto p, auto t, auto dy, const auto* share) {
  return dy * share[0] * (p - t) / std::max(p * (1 - p), decltype(p)(1e-12));
});

const Op bce_op = mean_loss_op("binary_cross_entropy", kValue, kGradient, [] {
  return std::vector<Example>{{{{{3, 5}, 0.125, 0.875}, {{3, 5}, 0, 1, float32, false}}}};
});
const Register registered(bce_op);

}  // namespace

Tensor binary_cross_entropy(const Tensor& probability, const Tensor& target) {
  check_loss("binary_cross_entropy", probability, target);
  if (probability.dtype() != float32 && probability.dtype() != float64)
    throw DTypeError("binary_cross_entropy", "probabilities in " + std::string(probability.dtype().name()),
                     "float32", "binary_cross_entropy_with_logits on the values before the sigmoid");
  return apply(bce_op, {probability, target});
}

}  // namespace halftone
