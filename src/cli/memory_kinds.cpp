// SPDX-License-Identifier: Apache-2.0
#include "cli/memory_kinds.h"

#include <algorithm>
#include <utility>

#include "halftone/amp.h"
#include "halftone/error.h"
#include "halftone/optim.h"
#include "train/machine.h"

namespace halftone::cli {
namespace {

// What was asked of the allocator since the last call.
class Meter {
 public:
  std::int64_t operator()() {
    const std::int64_t before = std::exchange(at_, memory_stats().requested);
    return at_ - before;
  }

 private:
  std::int64_t at_ = memory_stats().requested;
};

// Splits the largest resident size. The parts are never negative, whatever the system counted: pages that
// were reserved and never touched are not resident.
void split_process(MemoryKinds& kinds, std::int64_t peak, std::int64_t tensors, std::int64_t before) {
  kinds.activation = std::clamp<std::int64_t>(tensors - kinds.lasting(), 0,
                                              std::max<std::int64_t>(0, peak - kinds.lasting()));
  const std::int64_t outside = std::max<std::int64_t>(0, peak - kinds.lasting() - kinds.activation);
  kinds.workspace = std::clamp<std::int64_t>(outside - before, 0, outside);
  kinds.rest = outside - kinds.workspace;
}

}  // namespace

MemoryKinds measure_memory(const BenchModelRow& row, const BenchSize& size, const amp::Recipe& recipe,
                           const std::string& rule, bool consume_gradients, int steps) {
  row.batch(size, 0);  // what data it keeps is there before
  release_cached_memory();
  const MemoryStats at_first = memory_stats();
  const std::int64_t others = train::resident_bytes().anonymous - at_first.reserved;

  manual_seed(1);
  MemoryKinds kinds;
  Meter meter;
  const std::unique_ptr<BenchModel> model = row.make(size);
  model->to(recipe.parameter);
  kinds.parameter = meter();
  // A rule without state has the masters alone.
  {
    const auto bare = optim::make_optimizer("sgd", model->parameters(), recipe);
    kinds.master = meter();
  }
  meter();
  const auto optimizer = optim::make_optimizer(rule, model->parameters(), recipe);
  kinds.state = meter() - kinds.master;
  train::reset_peak_resident();
  amp::Step step(*optimizer, recipe, model->buffers(), {.consume_gradients = consume_gradients},
                 {.init_scale = 1});
  for (int i = 0; i < steps; ++i) {
    const data::Batch batch = row.batch(size, i);
    const amp::StepResult result = step([&](int) { return model->loss(batch); });
    if (!result.applied()) throw Error("memory", result.describe());
  }
  kinds.copy = meter();
  kinds.in_use = memory_stats().in_use - at_first.in_use;
  const std::int64_t peak = train::peak_resident_bytes(),
                     tensors = memory_stats().reserved - at_first.reserved,
                     files = train::resident_bytes().files;
  optimizer->zero_grad();
  kinds.gradient = -meter();
  kinds.copy -= kinds.gradient;
  for (const Parameter& parameter : optimizer->parameters()) kinds.count += parameter.value.count();
  split_process(kinds, peak, tensors, others + files);
  return kinds;
}

}  // namespace halftone::cli
