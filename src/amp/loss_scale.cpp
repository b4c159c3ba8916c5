// SPDX-License-Identifier: Apache-2.0
//
// The loss-scale rule. The scale is a float32 that is always finite, positive and has a finite reciprocal:
// options are validated so that both limits are, and next() never leaves [min_scale, max_scale].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/amp.h"

namespace halftone::amp {
namespace {

void require(bool holds, std::string_view option, double given, std::string_view expected) {
  if (!holds) throw ValueError("GradScaler", fmt::format("{} = {}", option, given), expected);
}

bool usable(double scale) {
  const float value = static_cast<float>(scale);
  return value > 0 && std::isfinite(value) && std::isfinite(1 / value);
}

}  // namespace

void validate(const ScalerOptions& o) {
  require(std::isfinite(o.growth_factor) && o.growth_factor >= 1, "growth_factor", o.growth_factor,
          "a finite factor of at least 1");
  require(o.backoff_factor > 0 && o.backoff_factor <= 1, "backoff_factor", o.backoff_factor,
          "a factor in (0, 1]");
  require(o.growth_interval >= 1, "growth_interval", o.growth_interval, "at least 1 step");
  require(o.max_skips_in_a_row >= 1, "max_skips_in_a_row", o.max_skips_in_a_row, "at least 1 step");
  const std::string_view scale = "a positive float32 whose reciprocal is finite";
  require(usable(o.min_scale), "min_scale", o.min_scale, scale);
  require(usable(o.max_scale), "max_scale", o.max_scale, scale);
  require(usable(o.init_scale), "init_scale", o.init_scale, scale);
  require(o.min_scale <= o.init_scale && o.init_scale <= o.max_scale, "init_scale", o.init_scale,
          fmt::format("a scale between min_scale = {} and max_scale = {}", o.min_scale, o.max_scale));
}

ScalerState next(const ScalerState& state, const ScalerOptions& options, bool found_inf) {
  ScalerState after = state;
  if (found_inf) {
    after.clean_steps = 0;
    ++after.skips_in_a_row;
    ++after.skips;
    if (options.enabled)
      after.scale = static_cast<float>(std::max(options.min_scale, state.scale * options.backoff_factor));
    return after;
  }
  after.skips_in_a_row = 0;
  if (!options.enabled) return after;
  ++after.clean_steps;
  if (after.clean_steps >= options.growth_interval) {
    after.clean_steps = 0;
    after.scale = static_cast<float>(std::min(options.max_scale, state.scale * options.growth_factor));
  }
  return after;
}

}  // namespace halftone::amp
