// SPDX-License-Identifier: Apache-2.0
//
// The two moments of Adam and what its descendants make of them. Coefficients and moments are float32 or
// better: in bfloat16, b2 = 0.999 is 1, and in float16 epsilon = 1e-8 is 0.
#pragma once

#include <cmath>

#include "optim/rule.h"

namespace halftone::optim {

// Options of a rule with two moments. Epsilon is a normal float32, so that 0 / epsilon is 0.
enum MomentsOption { kLr, kBeta1, kBeta2, kEpsilon, kDecay };
inline constexpr OptionRow kMomentsOptions[] = {
    {"lr", 0, 1e30}, {"beta1", 0, 1}, {"beta2", 0, 1}, {"epsilon", 1e-37, 1e30}, {"weight_decay", 0, 1e30}};
inline constexpr StateRow kMomentsState[] = {{"first", same_shape}, {"second", same_shape}};
template <class O>
constexpr Options moments_options(const O& o) {
  return {o.lr, o.beta1, o.beta2, o.epsilon, o.weight_decay};
}

// rest = 1 - beta; step is what the caller makes it, divided by 1 - b1^t; root_correction = 1 / sqrt(1 -
// b2^t); decay is the caller's.
enum MomentsCoefficient { kFirst, kFirstRest, kSecond, kSecondRest, kStep, kRootCorrection, kEps, kWeight };

inline Coefficients moments_coefficients(const Options& o, std::int64_t step, double size, double weight) {
  const auto correction1 = static_cast<float>(1 - std::pow(o[kBeta1], static_cast<double>(step)));
  const auto correction2 = static_cast<float>(1 - std::pow(o[kBeta2], static_cast<double>(step)));
  return {static_cast<float>(o[kBeta1]),
          static_cast<float>(1 - o[kBeta1]),
          static_cast<float>(o[kBeta2]),
          static_cast<float>(1 - o[kBeta2]),
          static_cast<float>(size / correction1),
          static_cast<float>(1 / std::sqrt(static_cast<double>(correction2))),
          static_cast<float>(o[kEpsilon]),
          static_cast<float>(weight)};
}

// Takes a gradient into the moments m and v, locals of the caller's loop; returns step m / (sqrt(v)
// root_correction + epsilon).
inline float moments_step(float g, float& m, float& v, const Coefficients& c) {
  m = c[kFirst] * m + c[kFirstRest] * g;
  const float squared = c[kSecond] * v + c[kSecondRest] * g * g;
  v = squared < kLargest ? squared : kLargest;
  return c[kStep] * m / (std::sqrt(v) * c[kRootCorrection] + c[kEps]);
}

}  // namespace halftone::optim
