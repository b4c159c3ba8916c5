// SPDX-License-Identifier: Apache-2.0
//
// What the memory of training is for. Nothing is computed from the formats: a model and its optimizer are
// made, steps are taken, and each number is the difference of what the allocator, or the system, had handed
// out before and after.
#pragma once

#include <cstdint>
#include <string>

#include "cli/bench_models.h"
#include "halftone/recipe.h"

namespace halftone::cli {

struct MemoryKinds {
  std::int64_t count = 0;  // of parameters
  // Bytes that tensors asked for.
  std::int64_t parameter = 0;  // what the model holds, running statistics included
  std::int64_t copy = 0;       // narrow copies for matmuls, and what a recipe remembers of its operands
  std::int64_t master = 0;     // what updates are applied to, or kept beside a narrow parameter
  std::int64_t gradient = 0;   // after the step
  std::int64_t state = 0;      // of the optimizer's rule
  std::int64_t in_use = 0;     // all of them as the allocator rounds sizes up
  // The rest of the process at its peak, the steps included.
  std::int64_t activation = 0;  // activations, other temporary tensors, and what the allocator keeps for them
  std::int64_t workspace = 0;   // what the process grew by besides: scratch, tiles, compiled kernels, graph
  std::int64_t rest = 0;        // what was there before: code, libraries, data

  std::int64_t lasting() const { return parameter + copy + master + gradient + state; }
  std::int64_t peak() const { return lasting() + activation + workspace + rest; }  // resident bytes
};

// Throws Error if a step is not applied.
MemoryKinds measure_memory(const BenchModelRow& row, const BenchSize& size, const amp::Recipe& recipe,
                           const std::string& optimizer, bool consume_gradients, int steps);

}  // namespace halftone::cli
