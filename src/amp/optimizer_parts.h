// SPDX-License-Identifier: Apache-2.0
//
// What amp::Optimizer keeps out of its header.
#pragma once

#include <vector>

#include "amp/narrow_weights.h"
#include "halftone/optimizer.h"

namespace halftone::amp {

struct Optimizer::Narrow : NarrowWeights {
  using NarrowWeights::NarrowWeights;
};

// Of an optimizer that consumes gradients. `done` and `squares` are of the step in progress.
struct Optimizer::Consuming {
  double clip_norm;      // 0: none
  Tensor previous_norm;  // float32: state of a run
  std::vector<bool> done;
  std::vector<double> squares;
  bool open = false;
  double norm = 0;  // of the step ended last
};

}  // namespace halftone::amp
