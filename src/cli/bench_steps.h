// SPDX-License-Identifier: Apache-2.0
//
// Whole training steps (batch, forward, backward, unscale, update) of one model in several recipes. The
// recipes take turns, so that whatever else the machine does hits all of them.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_models.h"
#include "cli/memory_kinds.h"
#include "halftone/profile.h"
#include "halftone/recipe.h"

namespace halftone::cli {

struct StepPlan {
  const BenchModelRow* model = nullptr;
  BenchSize size;
  std::vector<const amp::Recipe*> recipes;
  std::string optimizer = "adamw";
  int repetitions = 7;  // turns of each recipe
  int warmup = 3;       // steps of each recipe before the first turn
  int steps = 0;        // of a turn; 0: as many as take `seconds`
  double seconds = 1;
  bool memory = true;  // measured first, each recipe in a process of its own
};

struct StepTimes {
  const amp::Recipe* recipe = nullptr;
  std::int64_t parameters = 0;
  int steps = 0;                   // of a turn
  std::vector<double> seconds;     // of a step, the mean of each turn
  double matmul_gflops = 0;        // the best of the process with operands in the compute format
  double page_faults = 0;          // of a step
  std::int64_t rejected = 0;       // steps, of all
  profile::Recording recording{};  // of one step: after each turn one is recorded, this is the median
  MemoryKinds memory{};

  double median_seconds() const;
  double low() const;  // seconds
  double high() const;
};

// In the order of the plan.
std::vector<StepTimes> measure_steps(const StepPlan& plan);

}  // namespace halftone::cli
