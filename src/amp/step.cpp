// SPDX-License-Identifier: Apache-2.0
//
// One training step. Whatever goes wrong on the way (an overflow, a loss that is not finite, an exception of
// the caller's function), the step has changed nothing: buffers are restored and gradients cleared.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "halftone/amp.h"
#include "halftone/ops.h"

namespace halftone::amp {
namespace {

// The bytes of the running statistics, to go back to.
class Snapshot {
 public:
  explicit Snapshot(const std::vector<Parameter>& buffers) {
    for (const Parameter& buffer : buffers) {
      Tensor copy(buffer.value.shape(), buffer.value.dtype());
      std::memcpy(copy.raw_mutable(), buffer.value.raw(), static_cast<std::size_t>(copy.bytes()));
      entries_.push_back({buffer.value, copy});
    }
  }
  void restore() {
    for (auto& [buffer, copy] : entries_)
      std::memcpy(buffer.raw_mutable(), copy.raw(), static_cast<std::size_t>(copy.bytes()));
  }

 private:
  std::vector<std::pair<Tensor, Tensor>> entries_;
};

ScalerOptions scaler_for(const Recipe& recipe, ScalerOptions options) {
  options.enabled = options.enabled && recipe.scaling != LossScaling::none;
  if (recipe.scaling == LossScaling::constant) options.growth_factor = options.backoff_factor = 1;
  return options;
}

void check_consuming(const StepOptions& options, const Recipe& recipe) {
  const auto refuse = [](std::string given, std::string_view why, std::string_view instead) {
    throw ValueError("Step", "consume_gradients with " + given, why, instead);
  };
  if (options.clip_norm > 0)
    refuse("clip_norm", "no clipping: the norm is known only when all gradients have been used",
           "clip_previous_norm, which clips by the norm of the step before");
  if (options.accumulation_steps > 1)
    refuse(fmt::format("{} micro-batches", options.accumulation_steps),
           "one: gradients that are used at once can not add up", "a larger batch");
  if (recipe.scaling != LossScaling::none)
    refuse(fmt::format("the loss scaling of {}", recipe.name),
           "a recipe without: a step that overflows could not be undone", "a bfloat16 recipe");
}

std::string first_seen(const NonFiniteWatch& watch) {
  return watch.first() ? "; first seen in " + watch.first()->describe() : "";
}

// Runs the forward pass of a micro-batch again, with the same random numbers, to see where its loss came
// from.
std::string trace(const Casting& casting, const std::function<Tensor(int)>& loss, int micro_batch,
                  std::uint64_t random_before) {
  const NonFiniteWatch watch;
  thread_state().random_index = random_before;
  no_grad([&] { autocast(casting, [&] { return loss(micro_batch); }); });
  return first_seen(watch);
}

}  // namespace

Step::Step(Optimizer& optimizer, const Recipe& recipe, std::vector<Parameter> buffers, StepOptions options,
           ScalerOptions scaler)
    : optimizer_(optimizer),
      recipe_(recipe),
      casting_(recipe, optimizer.parameters()),
      buffers_(std::move(buffers)),
      options_(options),
      scaler_(scaler_for(recipe, scaler)) {
  if (!(options_.clip_norm >= 0) || std::isinf(options_.clip_norm))
    throw ValueError("Step", fmt::format("clip_norm = {}", options_.clip_norm),
                     "a finite norm, or 0 for no clipping");
  if (options_.accumulation_steps < 1)
    throw ValueError("Step", fmt::format("accumulation_steps = {}", options_.accumulation_steps),
                     "at least 1");
  if (options_.consume_gradients) check_consuming(options_, recipe);
  if (options_.clip_previous_norm != 0 && !options_.consume_gradients)
    throw ValueError("Step", "clip_previous_norm without consume_gradients",
                     "clip_norm, by this step's norm");
  optimizer_.consume_gradients(options_.consume_gradients, options_.clip_previous_norm);
  for (const Parameter& entry : casting_.state()) buffers_.push_back(entry);
  for (const Parameter& buffer : buffers_)
    if (!buffer.value.is_contiguous())
      throw ShapeError("Step", fmt::format("buffer '{}' with strides", buffer.name), "a contiguous tensor");
}

// Forward and backward over all micro-batches; returns the mean loss.
float Step::run(const std::function<Tensor(int)>& loss) {
  const int micro_batches = options_.accumulation_steps;
  double sum = 0;
  for (int i = 0; i < micro_batches; ++i) {
    const std::uint64_t random_before = thread_state().random_index;
    const Tensor value = autocast(casting_, [&] { return loss(i); });
    const double number = value.item();
    if (!std::isfinite(number)) {
      const std::string origin = options_.attribute ? trace(casting_, loss, i, random_before) : "";
      throw NonFiniteError(
          fmt::format("step {}", optimizer_.steps() + scaler_.state().skips + 1),
          fmt::format("the loss of micro-batch {} is {} before scaling{}", i,
                      std::isnan(number) ? "NaN"
                      : number > 0       ? "infinity"
                                         : "-infinity",
                      origin),
          "a finite loss",
          "looking for NaN in the inputs, a learning rate that is too high, or activations beyond the range "
          "of the compute format (bfloat16 has that of float32): no loss scale cures this");
    }
    sum += number;
    if (!value.requires_grad()) continue;  // a constant has no gradients to add
    const Tensor scaled = scaler_.scale(value);
    backward(micro_batches == 1 ? scaled : scale(scaled, 1.0 / micro_batches));
  }
  return static_cast<float>(sum / micro_batches);
}

StepResult Step::operator()(const std::function<Tensor(int)>& loss) {
  const std::uint64_t random_before = thread_state().random_index;
  Snapshot before(buffers_);
  optimizer_.zero_grad();
  const std::int64_t steps_before = optimizer_.steps();
  try {
    const float mean = run(loss);
    StepResult result =
        options_.consume_gradients ? finish(steps_before) : scaler_.step(optimizer_, options_.clip_norm);
    if (result.outcome == StepOutcome::skipped_overflow) {
      before.restore();
      if (options_.attribute) result.culprit += replay(loss, random_before);
      before.restore();
    }
    if (result.applied()) casting_.finish_step();
    scaler_.update();
    loss_ = mean;
    return result;
  } catch (...) {
    before.restore();
    optimizer_.zero_grad();
    scaler_.abandon();
    throw;
  }
}

// Of a step whose gradients were consumed.
StepResult Step::finish(std::int64_t steps_before) {
  optimizer_.step();
  StepResult result;
  if (optimizer_.steps() == steps_before) return result;
  result.outcome = StepOutcome::applied;
  result.gradient_norm = static_cast<float>(optimizer_.consumed_norm());
  return result;
}

// Runs the same step again, gradients thrown away, to see which op makes the first non-finite value.
std::string Step::replay(const std::function<Tensor(int)>& loss, std::uint64_t random_before) {
  thread_state().random_index = random_before;
  const NonFiniteWatch watch;
  run(loss);
  optimizer_.zero_grad();
  return first_seen(watch);
}

}  // namespace halftone::amp
