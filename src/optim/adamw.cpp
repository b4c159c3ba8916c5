// SPDX-License-Identifier: Apache-2.0
//
// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2, in the form of
// PyTorch:
//   w -= lr weight_decay w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   w -= lr / (1 - b1^t)  m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
// on every parameter. Coefficients and moments are float32 or better: in bfloat16, b2 = 0.999 is 1, and in
// float16 epsilon = 1e-8 is 0. t is the optimizer's step count.
#include <cmath>

#include "halftone/optim.h"
#include "halftone/simd.h"
#include "optim/state.h"

namespace halftone::optim {
namespace {

struct Coefficients {
  float gradient_scale, keep;            // keep = 1 - lr weight_decay
  float beta1, rest1, beta2, rest2;      // rest = 1 - beta
  float step, root_correction, epsilon;  // step = lr / (1 - b1^t); root_correction = 1 / sqrt(1 - b2^t)
};

struct Update {
  static void run(std::int64_t count, float* __restrict weights, float* __restrict first,
                  float* __restrict second, const float* __restrict gradient, const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = gradient[i] * c.gradient_scale;
      const float m = c.beta1 * first[i] + c.rest1 * g;
      const float v = c.beta2 * second[i] + c.rest2 * g * g;
      first[i] = m;
      second[i] = v;
      weights[i] = weights[i] * c.keep - c.step * m / (std::sqrt(v) * c.root_correction + c.epsilon);
    }
  }
};

}  // namespace

AdamW::AdamW(std::vector<Parameter> parameters, AdamWOptions options)
    : Optimizer(std::move(parameters), options.master), options_(options) {
  check("AdamW", "lr", options.lr, 0, 1e30);
  check("AdamW", "beta1", options.beta1, 0, 1);
  check("AdamW", "beta2", options.beta2, 0, 1);
  check("AdamW", "epsilon", options.epsilon, 1e-37, 1e30);  // a normal float32, so that 0 / epsilon is 0
  check("AdamW", "weight_decay", options.weight_decay, 0, 1e30);
  lr_ = options.lr;
  for (const Parameter& parameter : this->parameters()) {
    first_.push_back(zeros(parameter.value.shape()));
    second_.push_back(zeros(parameter.value.shape()));
  }
}

void AdamW::begin_step() {
  for (Tensor& moment : first_) moment.raw_mutable();  // one write per step, however many threads do it
  for (Tensor& moment : second_) moment.raw_mutable();
  correction1_ = static_cast<float>(1 - std::pow(options_.beta1, static_cast<double>(steps())));
  correction2_ = static_cast<float>(1 - std::pow(options_.beta2, static_cast<double>(steps())));
}

void AdamW::rule(std::size_t index, std::int64_t begin, std::int64_t count, float* weights,
                 const float* gradient, float gradient_scale) {
  const Coefficients c{
      .gradient_scale = gradient_scale,
      .keep = static_cast<float>(1 - lr_ * options_.weight_decay),
      .beta1 = static_cast<float>(options_.beta1),
      .rest1 = static_cast<float>(1 - options_.beta1),
      .beta2 = static_cast<float>(options_.beta2),
      .rest2 = static_cast<float>(1 - options_.beta2),
      .step = static_cast<float>(lr_ / correction1_),
      .root_correction = static_cast<float>(1 / std::sqrt(static_cast<double>(correction2_))),
      .epsilon = static_cast<float>(options_.epsilon)};
  at_simd_level<Update>(count, weights, values(first_[index]) + begin, values(second_[index]) + begin,
                        gradient, c);
}

std::vector<Parameter> AdamW::rule_state() const {
  std::vector<Parameter> state = named("first.", parameters(), first_);
  for (Parameter& entry : named("second.", parameters(), second_)) state.push_back(std::move(entry));
  return state;
}

}  // namespace halftone::optim
