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
  int accumulation_steps = 1;  // micro-batches whose mean loss makes one step
  bool attribute = true;       // on an overflow, run the step again under a watch to name op and layer
  // Each gradient is used, and dropped, as soon as backward has made it (Optimizer::consume_gradients): less
  // memory by a float32 per parameter. Refused where the step needs all gradients before the first is used:
  // with clip_norm, several micro-batches, or a recipe that scales its loss.
  bool consume_gradients = false;
  double clip_previous_norm = 0;  // with consume_gradients: clip by the norm of the step before; 0: do not
};

// scale -> backward -> (accumulate) -> unscale -> clip -> step -> update, in the only right order. A skipped
// step leaves parameters, masters, optimizer state and the given buffers (running statistics) as they were.
class Step {
 public:
  Step(Optimizer& optimizer, const Recipe& recipe, std::vector<Parameter> buffers = {},
       StepOptions options = {}, ScalerOptions scaler = {});

  // `loss(i)` computes the loss of micro-batch i, inside autocast. Throws NonFiniteError if a loss is NaN or
  // infinite before it is scaled: no scale cures that. With StepOptions::attribute it may be called again for
  // the same micro-batch, and must then compute the same.
  StepResult operator()(const std::function<Tensor(int micro_batch)>& loss);
  float loss() const { return loss_; }  // mean over the micro-batches of the last call
  GradScaler& scaler() { return scaler_; }
  Casting& casting() { return casting_; }  // of the recipe: evaluate under amp::autocast(step.casting(), ..)
  // The given buffers and what the recipe's casting remembers: with the optimizer's and the scaler's, the
  // state of a run.
  const std::vector<Parameter>& buffers() const { return buffers_; }

 private:
  float run(const std::function<Tensor(int)>& loss);
  StepResult finish(std::int64_t steps_before);
  std::string replay(const std::function<Tensor(int)>& loss, std::uint64_t random_before);

  Optimizer& optimizer_;
  const Recipe& recipe_;
  Casting casting_;
  std::vector<Parameter> buffers_;
  StepOptions options_;
  GradScaler scaler_;
  float loss_ = 0;
};

}  // namespace halftone::amp
