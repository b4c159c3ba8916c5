// SPDX-License-Identifier: Apache-2.0
//
// v = momentum v + (g + weight_decay w);  w -= lr v, or with Nesterov w -= lr (g + weight_decay w + momentum
// v). As PyTorch's, weight decay is on every parameter.
#include <fmt/format.h>

#include "halftone/simd.h"
#include "optim/rule.h"

namespace halftone::optim {
namespace {

enum { kLr, kMomentum, kNesterov, kDecay };  // options, and coefficients of the same names

constexpr OptionRow kOptions[] = {
    {"lr", 0, 1e30}, {"momentum", 0, 1}, {"nesterov", 0, 1.5}, {"weight_decay", 0, 1e30}};
constexpr StateRow kState[] = {{"velocity", [](const Shape& parameter, const Options& o) {
                                  return o[kMomentum] > 0 ? std::optional(parameter) : std::nullopt;
                                }}};

constexpr Options options_of(const SGDOptions& o) {
  return {o.lr, o.momentum, o.nesterov ? 1.0 : 0.0, o.weight_decay};
}

struct Plain {
  static void run(std::int64_t count, float* __restrict weights, const float* __restrict gradient,
                  float gradient_scale, const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i)
      weights[i] -= c[kLr] * (gradient[i] * gradient_scale + c[kDecay] * weights[i]);
  }
};

template <bool nesterov>
struct Momentum {
  static void run(std::int64_t count, float* __restrict weights, float* __restrict velocity,
                  const float* __restrict gradient, float gradient_scale, const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = gradient[i] * gradient_scale + c[kDecay] * weights[i];
      const float v = c[kMomentum] * velocity[i] + g;
      velocity[i] = v;
      weights[i] -= c[kLr] * (nesterov ? g + c[kMomentum] * v : v);
    }
  }
};

Coefficients coefficients(const Options& o, std::int64_t) {
  Coefficients c{};
  for (const auto i : {kLr, kMomentum, kNesterov, kDecay}) c[i] = static_cast<float>(o[i]);
  return c;
}

void update(const Tile& t, const Coefficients& c, const Shape&) {
  if (t.state[0] == nullptr)
    at_simd_level<Plain>(t.count, t.weights, t.gradient, t.gradient_scale, c);
  else if (c[kNesterov] != 0)
    at_simd_level<Momentum<true>>(t.count, t.weights, t.state[0], t.gradient, t.gradient_scale, c);
  else
    at_simd_level<Momentum<false>>(t.count, t.weights, t.state[0], t.gradient, t.gradient_scale, c);
}

void check(const Options& o) {
  if (o[kNesterov] != 0 && o[kNesterov] != 1)
    throw ValueError("SGD", fmt::format("nesterov = {}", o[kNesterov]), "0 or 1");
  if (o[kNesterov] != 0 && !(o[kMomentum] > 0))
    throw ValueError("SGD", "nesterov without momentum", "momentum > 0");
}

}  // namespace

extern const Rule kSgd;
constinit const Rule kSgd{"sgd",        "SGD",   kOptions, options_of({}), kState,
                          coefficients, nullptr, update,   check};

SGD::SGD(std::vector<Parameter> parameters, SGDOptions options)
    : RuleOptimizer(kSgd, std::move(parameters), options_of(options), options.master, options.state) {}

}  // namespace halftone::optim
