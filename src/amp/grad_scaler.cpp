// SPDX-License-Identifier: Apache-2.0
//
// A window is what happens between two updates: scale, backward, unscale, step. Whether a gradient was finite
// is decided once per window, on the unscaled values, and every decision follows from that flag; none is
// inferred from the scale.
#include <fmt/format.h>

#include <cmath>

#include "halftone/amp.h"
#include "halftone/ops.h"

namespace halftone::amp {

std::string StepResult::describe() const {
  switch (outcome) {
    case StepOutcome::applied:
      return fmt::format("applied: scale {}, gradient norm {:.4g}", scale, gradient_norm);
    case StepOutcome::skipped_overflow:
      return fmt::format("skipped (overflow, {} in a row) at scale {}: {}", skips_in_a_row, scale, culprit);
    case StepOutcome::nothing_to_do:
      return "nothing to do: no parameter has a gradient";
  }
  return "?";
}

GradScaler::GradScaler(ScalerOptions options) : options_(options) {
  validate(options_);
  state_.scale = options_.enabled ? static_cast<float>(options_.init_scale) : 1.0f;
}

Tensor GradScaler::scale(const Tensor& loss) const {
  // Outside any autocast region: a float16 loss times 65536 is infinite whatever the loss.
  const ThreadStateScope scope;
  thread_state().autocast.reset();
  thread_state().overrides = nullptr;
  const Tensor wide = cast(loss, float32);
  return options_.enabled ? halftone::scale(wide, state_.scale) : wide;
}

void GradScaler::unscale(Optimizer& optimizer) {
  optimizer.expect_gradients("GradScaler.unscale");
  if (unscaled_)
    throw ValueError(
        "GradScaler.unscale", "a second call since the last update()", "one call per step",
        "with several micro-batches, call it after the last; abandon() forgets a step not taken");
  const GradientScan scan = scan_gradients(optimizer.parameters(), 1 / state_.scale);
  unscaled_ = true;
  found_inf_ = !scan.finite;
  has_gradients_ = scan.gradients > 0;
  norm_ = scan.finite ? static_cast<float>(std::sqrt(scan.squared_norm)) : 0;
  culprit_ = scan.culprit;
  if (found_inf_) optimizer.zero_grad();
}

StepResult GradScaler::step(Optimizer& optimizer, double clip_norm) {
  if (stepped_)
    throw ValueError("GradScaler.step", "a second call since the last update()",
                     "update() after every step()");
  if (!unscaled_) unscale(optimizer);
  StepResult result{.scale = state_.scale, .gradient_norm = norm_, .culprit = culprit_};
  if (found_inf_) {
    result.outcome = StepOutcome::skipped_overflow;
    result.skips_in_a_row = state_.skips_in_a_row + 1;
    if (result.skips_in_a_row >= options_.max_skips_in_a_row) {
      update();  // the skip counts although the caller will not come to update()
      throw NonFiniteError(
          "GradScaler.step",
          fmt::format("{} steps skipped in a row, the last at scale {} because of {}", result.skips_in_a_row,
                      result.scale, result.culprit),
          "finite gradients",
          "looking for NaN in the inputs, a learning rate that is too high, or values beyond the range of "
          "the compute format: this is not a scaling problem");
    }
  } else if (has_gradients_) {
    result.outcome = StepOutcome::applied;
    const bool clip = clip_norm > 0 && norm_ > clip_norm;
    optimizer.step(clip ? static_cast<float>(clip_norm / norm_) : 1.0f);
  }
  stepped_ = true;
  return result;
}

void GradScaler::update() {
  state_ = next(state_, options_, found_inf_);
  abandon();
}

void GradScaler::abandon() {
  unscaled_ = found_inf_ = stepped_ = has_gradients_ = false;
  norm_ = 0;
  culprit_.clear();
}

void GradScaler::load(const ScalerState& state) {
  if (!(std::isfinite(state.scale) && state.scale > 0 && std::isfinite(1 / state.scale)))
    throw ValueError("GradScaler.load", fmt::format("scale = {}", state.scale),
                     "finite, positive, with a finite reciprocal");
  if (options_.enabled && (state.scale < static_cast<float>(options_.min_scale) ||
                           state.scale > static_cast<float>(options_.max_scale)))
    throw ValueError(
        "GradScaler.load", fmt::format("scale = {}", state.scale),
        fmt::format("between min_scale = {} and max_scale = {}", options_.min_scale, options_.max_scale));
  if (state.clean_steps < 0 || state.skips_in_a_row < 0 || state.skips < state.skips_in_a_row)
    throw ValueError("GradScaler.load",
                     fmt::format("clean_steps = {}, skips_in_a_row = {}, skips = {}", state.clean_steps,
                                 state.skips_in_a_row, state.skips),
                     "counts that are not negative, skips at least skips_in_a_row");
  state_ = state;
  if (!options_.enabled) state_.scale = 1;
  abandon();
}

}  // namespace halftone::amp
