// SPDX-License-Identifier: Apache-2.0
//
// The loss-scale rule. The scale is a float32 that is always finite, positive and has a finite reciprocal:
// options are validated so that both limits are, and next() never leaves [min_scale, max_scale].
#include "halftone/loss_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/error.h"

namespace halftone::amp {
namespace {

void require(bool holds, std::string_view option, double given, std::string_view expected) {
  if (!holds) throw ValueError("GradScaler", fmt::format("{} = {}", option, given), expected);
}

bool usable(double scale) {
  const float value = static_cast<float>(scale);
  return value > 0 && std::isfinite(value) && std::isfinite(1 / value);
}

float within_limits(double scale, const ScalerOptions& options) {
  return static_cast<float>(std::clamp(scale, options.min_scale, options.max_scale));
}

// Mean and variance with exponentially decaying weights (West 1979), plain ones over the first steps.
void learn(GradientHistory& history, double decay, double x) {
  if (!std::isfinite(x)) return;  // gradients that are all 0 say nothing
  ++history.steps;
  const double weight = std::max(1 - decay, 1 / static_cast<double>(history.steps));
  const double difference = x - history.mean;
  history.mean += weight * difference;
  history.variance = (1 - weight) * (history.variance + weight * difference * difference);
}

// The largest power of two that keeps the gradients, a few deviations above their mean, within the format.
double predicted_scale(const GradientHistory& history, const ScalerOptions& options) {
  const double expected = history.mean + options.deviations * std::sqrt(history.variance);
  return std::exp2(std::floor(std::log2(options.largest_value) - expected));
}

void overflow(ScalerState& after, const ScalerOptions& options) {
  // At this scale the largest value was beyond the format: that is known of it, and no more.
  if (options.rule == ScalerRule::predictive)
    learn(after.history, options.decay, std::log2(options.largest_value) - std::log2(after.scale));
  after.history.overflowed = options.rule == ScalerRule::predictive;
  if (after.tolerated < options.hysteresis - 1) {
    ++after.tolerated;
    return;
  }
  if (after.scale <= static_cast<float>(options.min_scale)) ++after.skips_at_floor;
  after.scale = within_limits(after.scale * options.backoff_factor, options);
}

void grow(ScalerState& after, const ScalerOptions& options, double scale) {
  after.scale = within_limits(scale, options);
  after.clean_steps = 0;
  after.tolerated = 0;
  after.history.overflowed = false;
}

void clean_step(ScalerState& after, const ScalerOptions& options, double log2_largest) {
  after.clean_steps = std::min(after.clean_steps, options.growth_interval - 1) + 1;  // no endless count
  if (options.refill == Refill::every_clean_step) after.tolerated = 0;
  const bool due = after.clean_steps >= options.growth_interval;
  if (options.rule == ScalerRule::dynamic) {
    if (due) grow(after, options, after.scale * options.growth_factor);
    return;
  }
  learn(after.history, options.decay, log2_largest);
  if (after.history.steps == 0) return;
  const float predicted = within_limits(predicted_scale(after.history, options), options);
  if (due || !after.history.overflowed)
    grow(after, options, predicted);
  else
    after.scale = std::min(after.scale, predicted);  // lower at once, higher not before time
}

}  // namespace

void validate(const ScalerOptions& o) {
  require(std::isfinite(o.growth_factor) && o.growth_factor >= 1, "growth_factor", o.growth_factor,
          "a finite factor of at least 1");
  require(o.backoff_factor > 0 && o.backoff_factor <= 1, "backoff_factor", o.backoff_factor,
          "a factor in (0, 1]");
  require(o.growth_interval >= 1, "growth_interval", o.growth_interval, "at least 1 step");
  require(o.hysteresis >= 1, "hysteresis", o.hysteresis, "at least 1 overflow");
  const std::string_view limit = "a number of steps, or 0 for no limit";
  require(o.max_skips_in_a_row >= 0, "max_skips_in_a_row", o.max_skips_in_a_row, limit);
  require(o.max_skips_at_floor >= 0, "max_skips_at_floor", o.max_skips_at_floor, limit);
  const std::string_view scale = "a positive float32 whose reciprocal is finite";
  require(usable(o.min_scale), "min_scale", o.min_scale, scale);
  require(usable(o.max_scale), "max_scale", o.max_scale, scale);
  require(usable(o.init_scale), "init_scale", o.init_scale, scale);
  require(o.min_scale <= o.init_scale && o.init_scale <= o.max_scale, "init_scale", o.init_scale,
          fmt::format("a scale between min_scale = {} and max_scale = {}", o.min_scale, o.max_scale));
  require(o.largest_value > 0 && std::isfinite(o.largest_value), "largest_value", o.largest_value,
          "a positive finite number");
  require(o.deviations >= 0 && std::isfinite(o.deviations), "deviations", o.deviations,
          "a finite number, not negative");
  require(o.decay >= 0 && o.decay < 1, "decay", o.decay, "a factor in [0, 1)");
}

ScalerState next(const ScalerState& state, const ScalerOptions& options, const ScalerEvent& event) {
  ScalerState after = state;
  const bool moves = options.enabled && options.rule != ScalerRule::constant;
  if (event.loss_not_finite || event.found_inf) {
    ++after.skips_in_a_row;
    ++after.skips;
    if (event.loss_not_finite) return after;
    after.clean_steps = 0;
    if (moves) overflow(after, options);
    return after;
  }
  after.skips_in_a_row = after.skips_at_floor = 0;
  if (moves) clean_step(after, options, event.log2_largest);
  return after;
}

bool gives_up(const ScalerState& state, const ScalerOptions& options) {
  const auto reached = [](int skips, int limit) { return limit > 0 && skips >= limit; };
  return reached(state.skips_in_a_row, options.max_skips_in_a_row) ||
         reached(state.skips_at_floor, options.max_skips_at_floor);
}

}  // namespace halftone::amp
