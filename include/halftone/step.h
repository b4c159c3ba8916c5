// SPDX-License-Identifier: Apache-2.0
//
// The training step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "halftone/autocast.h"
#include "halftone/grad_scaler.h"

namespace halftone::amp {

struct StepOptions {
  double clip_norm = 0;        // 0: no clipping
  double clip_value = 0;       // of every element of the gradients; 0: no clipping. One of the two
  int accumulation_steps = 1;  // micro-batches whose mean loss makes one step
  bool attribute = true;       // on an overflow, run the step again under a watch to name op and layer
  // Each gradient is used, and dropped, as soon as backward has made it (Optimizer::consume_gradients): less
  // memory by a float32 per parameter. Refused where the step needs all gradients before the first is used:
  // with clip_norm, several micro-batches, or a recipe that scales its loss; and without it, where the
  // optimizer consumes gradients already.
  bool consume_gradients = false;
  double clip_previous_norm = 0;  // with consume_gradients: clip by the norm of the step before; 0: do not
};

// The loss of a micro-batch as a sum and what it is a sum of (tokens, examples): losses of micro-batches of
// different weight then add up to the mean over all of them.
struct WeightedLoss {
  Tensor sum;
  double weight = 1;  // not negative
};

// scale -> backward -> (accumulate) -> unscale -> clip -> step -> update, in the only right order. A step
// that is not applied leaves parameters, masters, optimizer state, the given buffers (running statistics) and
// the position in the random numbers as they were.
class Step {
 public:
  Step(Optimizer& optimizer, const Recipe& recipe, std::vector<Parameter> buffers = {},
       StepOptions options = {}, ScalerOptions scaler = {});

  // `loss(i)` computes the loss of micro-batch i, inside autocast. If one is NaN or infinite before it is
  // scaled, the outcome is loss_not_finite: no scale cures that. With StepOptions::attribute it may be called
  // again for the same micro-batch, and must then compute the same. Throws NonFiniteError past the limits of
  // ScalerOptions on skips in a row. `micro_batches`: another number than the options say, for this step.
  StepResult operator()(const std::function<Tensor(int micro_batch)>& loss, int micro_batches = 0);
  // The same for sums: gradients and loss() are divided by the total weight, once, at the end. The loss scale
  // is that of the sums. A total weight of 0 is nothing to do. Throws ValueError for a weight that is
  // negative or not finite.
  StepResult operator()(const std::function<WeightedLoss(int micro_batch)>& loss, int micro_batches = 0);

  float loss() const {
    return loss_;
  }  // mean over the micro-batches of the last call, or what was not finite
  GradScaler& scaler() { return scaler_; }
  Casting& casting() { return casting_; }  // of the recipe: evaluate under amp::autocast(step.casting(), ..)
  // The given buffers and what the recipe's casting remembers: with the optimizer's and the scaler's, the
  // state of a run.
  const std::vector<Parameter>& buffers() const { return buffers_; }

 private:
  struct Micro;
  struct Pass;
  Pass run(const Micro& micro);
  StepResult finish(const Micro& micro, const Pass& pass);
  StepResult take(const Micro& micro);

  Optimizer& optimizer_;
  Casting casting_;
  std::vector<Parameter> buffers_;
  StepOptions options_;
  GradScaler scaler_;
  float loss_ = 0;
};

}  // namespace halftone::amp
