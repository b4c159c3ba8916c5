// SPDX-License-Identifier: Apache-2.0
//
// v = momentum v + (g + weight_decay w);  w -= lr v.  As PyTorch's, weight decay is on every parameter.
#include "halftone/optim.h"
#include "halftone/simd.h"
#include "optim/state.h"

namespace halftone::optim {
namespace {

struct Coefficients {
  float gradient_scale, lr, momentum, weight_decay;
};

struct Plain {
  static void run(std::int64_t count, float* __restrict weights, const float* __restrict gradient,
                  Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i)
      weights[i] -= c.lr * (gradient[i] * c.gradient_scale + c.weight_decay * weights[i]);
  }
};

struct Momentum {
  static void run(std::int64_t count, float* __restrict weights, float* __restrict velocity,
                  const float* __restrict gradient, Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float v =
          c.momentum * velocity[i] + (gradient[i] * c.gradient_scale + c.weight_decay * weights[i]);
      velocity[i] = v;
      weights[i] -= c.lr * v;
    }
  }
};

}  // namespace

SGD::SGD(std::vector<Parameter> parameters, SGDOptions options)
    : Optimizer(std::move(parameters), options.master), options_(options) {
  check("SGD", "lr", options.lr, 0, 1e30);
  check("SGD", "momentum", options.momentum, 0, 1);
  check("SGD", "weight_decay", options.weight_decay, 0, 1e30);
  lr_ = options.lr;
  if (options.momentum > 0)
    for (const Parameter& parameter : this->parameters()) velocity_.push_back(zeros(parameter.value.shape()));
}

void SGD::begin_step() {
  for (Tensor& velocity : velocity_)
    velocity.raw_mutable();  // one write per step, however many threads do it
}

void SGD::rule(std::size_t index, std::int64_t begin, std::int64_t count, float* weights,
               const float* gradient, float gradient_scale) {
  const Coefficients c{gradient_scale, static_cast<float>(lr_), static_cast<float>(options_.momentum),
                       static_cast<float>(options_.weight_decay)};
  if (velocity_.empty())
    at_simd_level<Plain>(count, weights, gradient, c);
  else
    at_simd_level<Momentum>(count, weights, values(velocity_[index]) + begin, gradient, c);
}

std::vector<Parameter> SGD::rule_state() const { return named("velocity.", parameters(), velocity_); }

}  // namespace halftone::optim
