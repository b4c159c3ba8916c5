// SPDX-License-Identifier: Apache-2.0
//
// Adam and AdamW, in the form of PyTorch, on every parameter:
//   Adam:   g += weight_decay w        AdamW:  w -= lr weight_decay w
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   w -= lr / (1 - b1^t)  m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
// t is the optimizer's step count.
#include "halftone/simd.h"
#include "optim/moments.h"

namespace halftone::optim {
namespace {

template <bool decoupled>
struct Loop {
  static void run(std::int64_t count, float* __restrict weights, float* __restrict first,
                  float* __restrict second, const float* __restrict gradient, float gradient_scale,
                  const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) {
      float g = gradient[i] * gradient_scale;
      if (!decoupled) g += c[kWeight] * weights[i];
      float m = first[i], v = second[i];
      const float step = moments_step(g, m, v, c);
      first[i] = m;
      second[i] = v;
      weights[i] = (decoupled ? weights[i] * c[kWeight] : weights[i]) - step;
    }
  }
};

template <bool decoupled>
Coefficients coefficients(const Options& o, std::int64_t step) {
  return moments_coefficients(o, step, o[kLr], decoupled ? 1 - o[kLr] * o[kDecay] : o[kDecay]);
}

template <bool decoupled>
void update(const Tile& t, const Coefficients& c, const Shape&) {
  at_simd_level<Loop<decoupled>>(t.count, t.weights, t.state[0], t.state[1], t.gradient, t.gradient_scale, c);
}

}  // namespace

extern const Rule kAdam, kAdamW;
constinit const Rule kAdam{"adam",          "Adam",
                           kMomentsOptions, moments_options(AdamOptions{}),
                           kMomentsState,   coefficients<false>,
                           nullptr,         update<false>};
constinit const Rule kAdamW{
    "adamw", "AdamW",     kMomentsOptions, moments_options(AdamWOptions{}), kMomentsState, coefficients<true>,
    nullptr, update<true>};

Adam::Adam(std::vector<Parameter> parameters, AdamOptions options)
    : RuleOptimizer(kAdam, std::move(parameters), moments_options(options), options.master, options.state) {}

AdamW::AdamW(std::vector<Parameter> parameters, AdamWOptions options)
    : RuleOptimizer(kAdamW, std::move(parameters), moments_options(options), options.master, options.state) {}

}  // namespace halftone::optim
