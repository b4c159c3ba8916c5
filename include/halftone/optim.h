// SPDX-License-Identifier: Apache-2.0
//
// Optimizers, clipping and schedules. All arithmetic and all state in float32, whatever the parameters'
// format.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/amp.h"

namespace halftone::optim {

using amp::MasterWeights;
using amp::Optimizer;

struct SGDOptions {
  double lr = 0.1;
  double momentum = 0;
  double weight_decay = 0;  // added to the gradient
  MasterWeights master = MasterWeights::float32_copy;
};

// v = momentum v + g; w -= lr v.  weight_decay is on every parameter. Throws ValueError for options out of
// range.
class SGD : public Optimizer {
 public:
  SGD(std::vector<Parameter> parameters, SGDOptions options = {});

 protected:
  void begin_step() override;
  void rule(std::size_t index, std::int64_t begin, std::int64_t count, float* weights, const float* gradient,
            float gradient_scale) override;
  std::vector<Parameter> rule_state() const override;

 private:
  SGDOptions options_;
  std::vector<Tensor> velocity_;
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // decoupled, on every parameter
  MasterWeights master = MasterWeights::float32_copy;
};

// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.
class AdamW : public Optimizer {
 public:
  AdamW(std::vector<Parameter> parameters, AdamWOptions options = {});

 protected:
  void begin_step() override;
  void rule(std::size_t index, std::int64_t begin, std::int64_t count, float* weights, const float* gradient,
            float gradient_scale) override;
  std::vector<Parameter> rule_state() const override;

 private:
  AdamWOptions options_;
  std::vector<Tensor> first_, second_;
  float correction1_ = 1, correction2_ = 1;
};

// Scales all gradients so that their joint norm is at most max_norm, and returns the norm before. Gradients
// must have been unscaled. Throws NonFiniteError if the norm is not finite.
double clip_grad_norm(Optimizer& optimizer, double max_norm);

// Linear warm-up over warmup_steps to peak, then half a cosine down to `floor` at total_steps. `step` counts
// from 0; give it Optimizer::steps(), which a skipped step does not advance.
double warmup_cosine(std::int64_t step, std::int64_t warmup_steps, std::int64_t total_steps, double peak,
                     double floor = 0);

}  // namespace halftone::optim
