// SPDX-License-Identifier: Apache-2.0
//
// Whether a gradient was finite is decided once per optimizer and window, on the unscaled values, and every
// decision follows from that; none is inferred from the scale.
#include "halftone/grad_scaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "halftone/autograd.h"
#include "halftone/error.h"
#include "halftone/ops.h"

namespace halftone::amp {
namespace {

// Throws ValueError unless the float32 `scale` is one that the options allow.
void check_scale(std::string_view where, float scale, const ScalerOptions& options) {
  const auto low = static_cast<float>(options.min_scale), high = static_cast<float>(options.max_scale);
  if (!(scale >= low && scale <= high))
    throw ValueError(where, fmt::format("scale = {}", scale),
                     fmt::format("between min_scale = {} and max_scale = {}", low, high));
}

}  // namespace

GradScaler::GradScaler(ScalerOptions options) : options_(options) {
  validate(options_);
  state_.scale = options_.enabled ? static_cast<float>(options_.init_scale) : 1.0f;
  state_.enabled = options_.enabled;
}

Tensor GradScaler::scale(const Tensor& loss) {
  // Outside any autocast region: a float16 loss times 65536 is infinite whatever the loss.
  const ThreadStateScope scope;
  thread_state().autocast.reset();
  thread_state().overrides = nullptr;
  window_scale_ = window_scale();
  const Tensor wide = cast(loss, float32);
  return options_.enabled ? halftone::scale(wide, *window_scale_) : wide;
}

// Gradients are divided once, whoever owns them.
void GradScaler::check_unshared(const Optimizer& optimizer) const {
  if (unscaled_.empty()) return;
  std::unordered_set<const AutogradSlot*> divided;
  for (const Unscaled& entry : unscaled_)
    for (const auto& leaf : entry.leaves) divided.insert(leaf.get());
  for (const Parameter& parameter : optimizer.parameters())
    if (parameter.value.requires_grad() && divided.contains(parameter.value.slot().get()))
      throw ValueError(
          "GradScaler.unscale",
          fmt::format("'{}', unscaled for another optimizer since the last update()", parameter.name),
          "each parameter in one of the optimizers",
          "update(), and a backward pass of its own, between the two");
}

GradScaler::Unscaled* GradScaler::find(const Optimizer& optimizer) {
  const auto found = std::find_if(unscaled_.begin(), unscaled_.end(),
                                  [&](const Unscaled& entry) { return entry.optimizer == &optimizer; });
  return found == unscaled_.end() ? nullptr : &*found;
}

void GradScaler::unscale(Optimizer& optimizer, double weight) {
  optimizer.expect_gradients("GradScaler.unscale");
  if (find(optimizer) != nullptr)
    throw ValueError(
        "GradScaler.unscale", "a second call for this optimizer since the last update()",
        "one call per optimizer and step",
        "with several micro-batches, call it after the last; abandon() forgets a step not taken");
  if (!(weight > 0 && std::isfinite(weight)))
    throw ValueError("GradScaler.unscale", fmt::format("weight = {}", weight), "positive and finite");
  check_unshared(optimizer);
  window_scale_ = window_scale();
  const double divisor = static_cast<double>(*window_scale_) * weight;
  const bool predictive = options_.enabled && options_.rule == ScalerRule::predictive;
  unscaled_.push_back({&optimizer, scan_gradients(optimizer.parameters(), 1 / divisor, predictive), weight});
  for (const Parameter& parameter : optimizer.parameters())
    if (parameter.value.requires_grad()) unscaled_.back().leaves.push_back(parameter.value.slot());
  if (!unscaled_.back().scan.finite) optimizer.zero_grad();
}

bool GradScaler::found_inf() const {
  return !rejected_.empty() || std::any_of(unscaled_.begin(), unscaled_.end(),
                                           [](const Unscaled& entry) { return !entry.scan.finite; });
}

void GradScaler::reject(std::string culprit) {
  rejected_ = culprit.empty() ? "an overflow elsewhere" : std::move(culprit);
}

ScalerEvent GradScaler::event() const {
  ScalerEvent event{.found_inf = found_inf()};
  double largest = 0;  // of the losses that were scaled: sums, where there is a weight
  for (const Unscaled& entry : unscaled_)
    if (entry.scan.finite)
      largest = std::max(largest, static_cast<double>(entry.scan.largest) * entry.weight);
  event.log2_largest = std::log2(largest);
  return event;
}

StepResult GradScaler::step(Optimizer& optimizer, double clip_norm) {
  if (!(clip_norm >= 0 && std::isfinite(clip_norm)))
    throw ValueError("GradScaler.step", fmt::format("clip_norm = {}", clip_norm),
                     "a finite norm, or 0 for no clipping");
  if (find(optimizer) == nullptr) unscale(optimizer);
  Unscaled& entry = *find(optimizer);
  if (entry.stepped)
    throw ValueError("GradScaler.step", "a second call for this optimizer since the last update()",
                     "update() after every step()");
  entry.stepped = true;
  const GradientScan& scan = entry.scan;
  StepResult result{.scale = window_scale()};
  if (!scan.finite || !rejected_.empty()) {
    if (scan.finite) optimizer.zero_grad();
    const ScalerState after = next(state_, options_, event());
    result.outcome = StepOutcome::skipped_overflow;
    result.skips_in_a_row = after.skips_in_a_row;
    result.skips_at_floor = after.skips_at_floor;
    result.culprit = scan.finite ? rejected_ : scan.culprit;
    if (gives_up(after, options_)) {
      update();  // the skip counts although the caller will not come to update()
      throw_non_finite("GradScaler.step", result);
    }
  } else if (scan.gradients > 0) {
    const double norm = std::sqrt(scan.squared_norm);
    const bool clip = clip_norm > 0 && norm > clip_norm;
    const std::int64_t before = optimizer.steps();
    optimizer.step(clip ? static_cast<float>(clip_norm / norm) : 1.0f);
    if (optimizer.steps() == before) return result;  // the gradients were dropped since
    result.outcome = StepOutcome::applied;
    result.gradient_norm = norm;
  }
  return result;
}

StepResult GradScaler::reject_loss(std::string culprit) {
  StepResult result{
      .outcome = StepOutcome::loss_not_finite, .scale = window_scale(), .culprit = std::move(culprit)};
  state_ = next(state_, options_, {.loss_not_finite = true});
  abandon();
  result.skips_in_a_row = state_.skips_in_a_row;
  if (gives_up(state_, options_)) throw_non_finite("GradScaler.reject_loss", result);
  return result;
}

void GradScaler::update() {
  state_ = next(state_, options_, event());
  abandon();
}

void GradScaler::abandon() {
  window_scale_.reset();
  unscaled_.clear();
  rejected_.clear();
}

void GradScaler::load(const ScalerState& state) {
  const GradientHistory& history = state.history;
  if (!(std::isfinite(state.scale) && state.scale > 0 && std::isfinite(1 / state.scale)))
    throw ValueError("GradScaler.load", fmt::format("scale = {}", state.scale),
                     "finite, positive, with a finite reciprocal");
  if (state.clean_steps < 0 || state.skips_in_a_row < 0 || state.skips < state.skips_in_a_row ||
      state.tolerated < 0 || state.skips_at_floor < 0 || state.skips_at_floor > state.skips_in_a_row)
    throw ValueError("GradScaler.load",
                     fmt::format("clean_steps = {}, skips_in_a_row = {}, skips = {}, tolerated = {}, "
                                 "skips_at_floor = {}",
                                 state.clean_steps, state.skips_in_a_row, state.skips, state.tolerated,
                                 state.skips_at_floor),
                     "counts that are not negative, skips at least skips_in_a_row, and that at least "
                     "skips_at_floor");
  if (history.steps < 0 || !std::isfinite(history.mean) ||
      !(std::isfinite(history.variance) && history.variance >= 0))
    throw ValueError("GradScaler.load",
                     fmt::format("a history of {} steps, mean {}, variance {}", history.steps, history.mean,
                                 history.variance),
                     "finite numbers, only the mean negative");
  ScalerState loaded = state;
  if (!options_.enabled || !state.enabled) {
    loaded = GradScaler(options_).state();
    loaded.skips = state.skips;
    loaded.skips_in_a_row = state.skips_in_a_row;
  } else {
    check_scale("GradScaler.load", state.scale, options_);
  }
  state_ = loaded;
  abandon();
}

void GradScaler::set_scale(double scale) {
  if (!options_.enabled)
    throw ValueError("GradScaler.set_scale", fmt::format("scale = {} for a disabled scaler", scale),
                     "an enabled one");
  check_scale("GradScaler.set_scale", static_cast<float>(scale), options_);
  state_.scale = static_cast<float>(scale);
  state_.clean_steps = 0;
}

}  // namespace halftone::amp
