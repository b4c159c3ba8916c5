// SPDX-License-Identifier: Apache-2.0
//
// One training step. Whatever goes wrong on the way (an overflow, a loss that is not finite, nothing to do,
// an exception of the caller's function), the step has changed nothing: buffers and the position in the
// random numbers are restored and gradients cleared.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "halftone/amp.h"
#include "halftone/ops.h"

namespace halftone::amp {
namespace {

// The bytes of the running statistics and the position in the random numbers, to go back to.
class Snapshot {
 public:
  explicit Snapshot(const std::vector<Parameter>& buffers) : random_index_(thread_state().random_index) {
    for (const Parameter& buffer : buffers) {
      Tensor copy(buffer.value.shape(), buffer.value.dtype());
      std::memcpy(copy.raw_mutable(), buffer.value.raw(), static_cast<std::size_t>(copy.bytes()));
      entries_.push_back({buffer.value, copy});
    }
  }
  void restore() {
    for (auto& [buffer, copy] : entries_)
      std::memcpy(buffer.raw_mutable(), copy.raw(), static_cast<std::size_t>(copy.bytes()));
    thread_state().random_index = random_index_;
  }

 private:
  std::vector<std::pair<Tensor, Tensor>> entries_;
  std::uint64_t random_index_;
};

ScalerOptions scaler_for(const Recipe& recipe, ScalerOptions options) {
  options.enabled = options.enabled && recipe.scaling != LossScaling::none;
  if (recipe.scaling == LossScaling::constant) options.rule = ScalerRule::constant;
  options.largest_value = max_finite(recipe.compute.format());
  return options;
}

std::string_view name_of_non_finite(double number) {
  return std::isnan(number) ? "NaN" : number > 0 ? "infinity" : "-infinity";
}

void check_consuming(const StepOptions& options, const Recipe& recipe) {
  const auto refuse = [](std::string given, std::string_view why, std::string_view instead) {
    throw ValueError("Step", "consume_gradients with " + given, why, instead);
  };
  if (options.clip_norm > 0)
    refuse("clip_norm", "no clipping: the norm is known only when all gradients have been used",
           "clip_previous_norm, which clips by the norm of the step before");
  if (options.clip_value > 0) refuse("clip_value", "no clipping by value", "clip_previous_norm");
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

}  // namespace

// What a step is made of: its micro-batches, as sums with weights; of plain losses the weights are not used.
struct Step::Micro {
  std::function<WeightedLoss(int)> loss;
  int count;
  bool weighted;
};

// Forward and backward over all of them.
struct Step::Pass {
  double loss = 0, weight = 0;
  std::string failure{};  // the first loss that is not finite, where it came from; empty if all are finite
  std::int64_t steps_before = 0;  // of the optimizer
};

Step::Step(Optimizer& optimizer, const Recipe& recipe, std::vector<Parameter> buffers, StepOptions options,
           ScalerOptions scaler)
    : optimizer_(optimizer),
      casting_(recipe, optimizer.parameters()),
      buffers_(std::move(buffers)),
      options_(options),
      scaler_(scaler_for(recipe, scaler)) {
  if (!(options_.clip_norm >= 0) || std::isinf(options_.clip_norm))
    throw ValueError("Step", fmt::format("clip_norm = {}", options_.clip_norm),
                     "a finite norm, or 0 for no clipping");
  if (!(options_.clip_value >= 0) || std::isinf(options_.clip_value) ||
      (options_.clip_value > 0 && options_.clip_norm > 0))
    throw ValueError("Step",
                     fmt::format("clip_value = {}, clip_norm = {}", options_.clip_value, options_.clip_norm),
                     "a finite value, 0 for no clipping, and one kind of clipping");
  if (options_.accumulation_steps < 1)
    throw ValueError("Step", fmt::format("accumulation_steps = {}", options_.accumulation_steps),
                     "at least 1");
  if (options_.consume_gradients)
    check_consuming(options_, recipe);
  else if (optimizer_.consumes_gradients())
    throw ValueError("Step", "an optimizer that consumes gradients", "StepOptions::consume_gradients, too",
                     "optimizer.consume_gradients(false) for a step of all gradients at once");
  if (options_.clip_previous_norm != 0 && !options_.consume_gradients)
    throw ValueError("Step", "clip_previous_norm without consume_gradients",
                     "clip_norm, by this step's norm");
  if (options_.consume_gradients) optimizer_.consume_gradients(true, options_.clip_previous_norm);
  for (const Parameter& entry : casting_.state()) buffers_.push_back(entry);
  for (const Parameter& buffer : buffers_)
    if (!buffer.value.is_contiguous())
      throw ShapeError("Step", fmt::format("buffer '{}' with strides", buffer.name), "a contiguous tensor");
}

Step::Pass Step::run(const Micro& micro) {
  Pass pass{.steps_before = optimizer_.steps()};
  for (int i = 0; i < micro.count; ++i) {
    const std::uint64_t random_before = thread_state().random_index;
    const WeightedLoss loss = autocast(casting_, [&] { return micro.loss(i); });
    if (!(loss.weight >= 0 && std::isfinite(loss.weight)))
      throw ValueError("Step", fmt::format("micro-batch {} of weight {}", i, loss.weight),
                       "a finite weight, not negative");
    const double number = loss.sum.item();
    pass.loss += number;
    pass.weight += loss.weight;
    if (!std::isfinite(number)) {
      pass.failure =
          fmt::format("the loss of micro-batch {} is {} before scaling", i, name_of_non_finite(number));
      if (options_.attribute) {  // the forward pass again, with the same random numbers
        const NonFiniteWatch watch;
        thread_state().random_index = random_before;
        autocast(casting_, [&] { return micro.loss(i); });  // with a graph: the loss may ask for gradients
        pass.failure += first_seen(watch);
      }
      return pass;
    }
    if (!loss.sum.requires_grad()) continue;  // a constant has no gradients to add
    const Tensor scaled = scaler_.scale(loss.sum);
    backward(micro.weighted || micro.count == 1 ? scaled : scale(scaled, 1.0 / micro.count));
  }
  pass.loss /= micro.weighted ? (pass.weight > 0 ? pass.weight : 1) : micro.count;
  return pass;
}

// From complete gradients to a result; the window is still open unless the loss was rejected.
StepResult Step::finish(const Micro& micro, const Pass& pass) {
  if (!pass.failure.empty()) return scaler_.reject_loss(pass.failure);
  if (micro.weighted && pass.weight == 0)
    return {.scale = scaler_.state().scale, .culprit = "the weights of all micro-batches are 0"};
  if (options_.consume_gradients) {
    optimizer_.step();
    if (optimizer_.steps() == pass.steps_before) return {};
    return {.outcome = StepOutcome::applied, .gradient_norm = optimizer_.consumed_norm()};
  }
  scaler_.unscale(optimizer_, micro.weighted ? pass.weight : 1);
  if (options_.clip_value > 0) clip_values(optimizer_.parameters(), options_.clip_value);
  return scaler_.step(optimizer_, options_.clip_norm);
}

StepResult Step::take(const Micro& micro) {
  if (micro.count < 1) throw ValueError("Step", fmt::format("micro_batches = {}", micro.count), "at least 1");
  if (options_.consume_gradients && (micro.count > 1 || micro.weighted))
    throw ValueError("Step",
                     "consume_gradients with several micro-batches, or sums to be divided by their weight",
                     "one loss: gradients that are used at once can not add up");
  Snapshot before(buffers_);
  optimizer_.zero_grad();
  try {
    const Pass pass = run(micro);
    loss_ = static_cast<float>(pass.loss);
    StepResult result = finish(micro, pass);
    if (result.applied()) {
      casting_.finish_step();
    } else {
      before.restore();
      // The same step again, gradients thrown away, to see which op makes the first non-finite value.
      if (result.outcome == StepOutcome::skipped_overflow && options_.attribute) {
        const NonFiniteWatch watch;
        run(micro);
        result.culprit += first_seen(watch);
        before.restore();
      }
      optimizer_.zero_grad();
    }
    if (result.outcome != StepOutcome::loss_not_finite) scaler_.update();
    return result;
  } catch (...) {
    before.restore();
    optimizer_.zero_grad();
    scaler_.abandon();
    throw;
  }
}

StepResult Step::operator()(const std::function<Tensor(int)>& loss, int micro_batches) {
  const int count = micro_batches == 0 ? options_.accumulation_steps : micro_batches;
  return take({[&](int i) { return WeightedLoss{loss(i), 1}; }, count, false});
}

StepResult Step::operator()(const std::function<WeightedLoss(int)>& loss, int micro_batches) {
  return take({loss, micro_batches == 0 ? options_.accumulation_steps : micro_batches, true});
}

}  // namespace halftone::amp
