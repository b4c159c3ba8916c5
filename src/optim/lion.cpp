// SPDX-License-Identifier: Apache-2.0
//
// Chen et al. 2023, algorithm 2:
//   w -= lr (sign(b1 m + (1 - b1) g) + weight_decay w);  m = b2 m + (1 - b2) g
#include "halftone/simd.h"
#include "optim/rule.h"

namespace halftone::optim {
namespace {

enum { kLr, kBeta1, kBeta2, kDecay };                             // options
enum { kRate, kFirst, kFirstRest, kSecond, kSecondRest, kKeep };  // coefficients; rest = 1 - beta

constexpr OptionRow kOptions[] = {
    {"lr", 0, 1e30}, {"beta1", 0, 1}, {"beta2", 0, 1}, {"weight_decay", 0, 1e30}};
constexpr StateRow kState[] = {{"first", same_shape}};

constexpr Options options_of(const LionOptions& o) { return {o.lr, o.beta1, o.beta2, o.weight_decay}; }

struct Loop {
  static void run(std::int64_t count, float* __restrict weights, float* __restrict first,
                  const float* __restrict gradient, float gradient_scale, const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = gradient[i] * gradient_scale;
      const float x = c[kFirst] * first[i] + c[kFirstRest] * g;
      const float sign = x > 0 ? 1.0f : x < 0 ? -1.0f : x;  // 0, or a NaN that must show
      first[i] = c[kSecond] * first[i] + c[kSecondRest] * g;
      weights[i] = weights[i] * c[kKeep] - c[kRate] * sign;
    }
  }
};

Coefficients coefficients(const Options& o, std::int64_t) {
  return {static_cast<float>(o[kLr]),        static_cast<float>(o[kBeta1]),
          static_cast<float>(1 - o[kBeta1]), static_cast<float>(o[kBeta2]),
          static_cast<float>(1 - o[kBeta2]), static_cast<float>(1 - o[kLr] * o[kDecay])};
}

void update(const Tile& t, const Coefficients& c, const Shape&) {
  at_simd_level<Loop>(t.count, t.weights, t.state[0], t.gradient, t.gradient_scale, c);
}

}  // namespace

extern const Rule kLion;
constinit const Rule kLion{"lion", "Lion", kOptions, options_of({}), kState, coefficients, nullptr, update};

Lion::Lion(std::vector<Parameter> parameters, LionOptions options)
    : RuleOptimizer(kLion, std::move(parameters), options_of(options), options.master, options.state) {}

}  // namespace halftone::optim
