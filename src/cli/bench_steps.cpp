// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_steps.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/median.h"
#include "cli/bench_child.h"
#include "cli/bench_rates.h"
#include "halftone/amp.h"
#include "halftone/optim.h"

namespace halftone::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// One recipe's model, at work.
class Lane {
 public:
  Lane(const StepPlan& plan, const amp::Recipe& recipe)
      : row_(*plan.model),
        size_(plan.size),
        model_((manual_seed(1), row_.make(size_))),
        optimizer_((model_->to(recipe.parameter),
                    optim::make_optimizer(plan.optimizer, model_->parameters(), recipe))),
        step_(*optimizer_, recipe, model_->buffers(), {}, {.init_scale = 1024}) {}

  // Seconds of a step.
  double run(int steps) {
    const auto start = Clock::now();
    for (int i = 0; i < steps; ++i) {
      const data::Batch batch = next();
      rejected_ += !step_([&](int) { return model_->loss(batch); }).applied();
    }
    return std::chrono::duration<double>(Clock::now() - start).count() / steps;
  }

  profile::Recording recorded() {
    profile::start();
    run(1);
    return profile::stop();
  }

  std::int64_t parameters() const {
    std::int64_t count = 0;
    for (const Parameter& parameter : optimizer_->parameters()) count += parameter.value.count();
    return count;
  }
  std::int64_t rejected() const { return rejected_; }

 private:
  data::Batch next() {
    const profile::Scope scope("batch", profile::Class::data);
    return row_.batch(size_, taken_++);
  }

  const BenchModelRow& row_;
  BenchSize size_;
  std::unique_ptr<BenchModel> model_;
  std::unique_ptr<amp::Optimizer> optimizer_;
  amp::Step step_;
  std::int64_t taken_ = 0, rejected_ = 0;
};

constexpr std::int64_t MemoryKinds::*kKinds[] = {
    &MemoryKinds::count,      &MemoryKinds::parameter, &MemoryKinds::copy,
    &MemoryKinds::master,     &MemoryKinds::gradient,  &MemoryKinds::state,
    &MemoryKinds::activation, &MemoryKinds::workspace, &MemoryKinds::rest};

MemoryKinds memory_of(const StepPlan& plan, const amp::Recipe& recipe) {
  constexpr int kSteps = 2;  // the second keeps what the first made
  const nlohmann::json numbers = nlohmann::json::parse(in_child([&] {
    const MemoryKinds kinds = measure_memory(*plan.model, plan.size, recipe, plan.optimizer, false, kSteps);
    nlohmann::json list;
    for (const auto kind : kKinds) list.push_back(kinds.*kind);
    return list.dump();
  }));
  MemoryKinds kinds;
  for (std::size_t i = 0; i < std::size(kKinds); ++i) kinds.*kKinds[i] = numbers[i];
  return kinds;
}

void measure_rates(std::vector<StepTimes>& all) {
  std::vector<std::pair<DType, double>> rates;
  for (StepTimes& times : all) {
    const DType dtype = times.recipe->compute;
    auto found =
        std::find_if(rates.begin(), rates.end(), [&](const auto& rate) { return rate.first == dtype; });
    if (found == rates.end()) found = rates.insert(rates.end(), {dtype, best_matmul_gflops(dtype)});
    times.matmul_gflops = std::max(times.matmul_gflops, found->second);
  }
}

profile::Recording middle(std::vector<profile::Recording> recordings) {
  const auto wall = [](const profile::Recording& recording) { return break_down(recording).wall; };
  const auto at = recordings.begin() + static_cast<std::ptrdiff_t>(recordings.size() / 2);
  std::nth_element(recordings.begin(), at, recordings.end(),
                   [&](const auto& a, const auto& b) { return wall(a) < wall(b); });
  return std::move(*at);
}

}  // namespace

double StepTimes::median_seconds() const { return median(seconds); }
double StepTimes::low() const { return *std::min_element(seconds.begin(), seconds.end()); }
double StepTimes::high() const { return *std::max_element(seconds.begin(), seconds.end()); }

std::vector<StepTimes> measure_steps(const StepPlan& plan) {
  std::vector<StepTimes> all(plan.recipes.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].recipe = plan.recipes[i];
    if (plan.memory) all[i].memory = memory_of(plan, *plan.recipes[i]);
  }
  std::vector<std::unique_ptr<Lane>> lanes;
  for (StepTimes& times : all) {
    Lane& lane = *lanes.emplace_back(std::make_unique<Lane>(plan, *times.recipe));
    lane.run(std::max(1, plan.warmup));
    times.steps =
        plan.steps > 0 ? plan.steps : std::clamp(static_cast<int>(plan.seconds / lane.run(1)), 1, 100000);
  }
  std::vector<std::vector<profile::Recording>> recordings(all.size());
  std::vector<std::int64_t> faults(all.size());
  for (int turn = 0; turn < plan.repetitions; ++turn) {
    measure_rates(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      lanes[i]->run(1);  // the caches are this lane's again
      const std::int64_t before = page_faults();
      all[i].seconds.push_back(lanes[i]->run(all[i].steps));
      faults[i] += page_faults() - before;
      recordings[i].push_back(lanes[i]->recorded());
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].page_faults =
        static_cast<double>(faults[i]) / (static_cast<double>(all[i].steps) * plan.repetitions);
    all[i].parameters = lanes[i]->parameters();
    all[i].rejected = lanes[i]->rejected();
    all[i].recording = middle(std::move(recordings[i]));
  }
  return all;
}

}  // namespace halftone::cli
