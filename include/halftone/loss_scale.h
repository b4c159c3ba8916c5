// SPDX-License-Identifier: Apache-2.0
//
// The loss-scale rule: options, state, and one pure function that takes a state to the next. What applies it
// is GradScaler.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace halftone::amp {

enum class ScalerRule : std::uint8_t {
  dynamic,     // backs off on an overflow, grows after growth_interval clean steps
  constant,    // never moves
  predictive,  // as high as the gradients of the last steps say is safe; backs off on an overflow all the
               // same
};

// When the tolerance of ScalerOptions::hysteresis is whole again.
enum class Refill : std::uint8_t {
  on_growth,         // after growth_interval clean steps (Megatron-LM)
  every_clean_step,  // DeepSpeed's consecutive_hysteresis: only overflows in a row count
};

struct ScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  // Clean steps in a row before the scale grows. Of the predictive rule: after an overflow, before the
  // prediction is tried again.
  int growth_interval = 2000;
  double min_scale = 1;
  double max_scale = 16777216;  // 2^24: a larger scale helps no float16 gradient
  int hysteresis = 1;           // the overflow that lowers the scale; those before it are tolerated
  Refill refill = Refill::on_growth;
  // Past one of these limits step() throws NonFiniteError naming the culprit; 0: never, training goes on.
  int max_skips_in_a_row = 50;
  int max_skips_at_floor = 0;  // of those, the ones that could not lower the scale any more
  bool enabled = true;         // disabled: the scale is 1, non-finite gradients are still skipped and counted
  ScalerRule rule = ScalerRule::dynamic;
  // Of the predictive rule.
  double largest_value = 65504;  // of the compute format; Step sets it
  double deviations = 3.09;      // above the mean: the 0.999 quantile of a normal distribution
  double decay = 0.99;           // of mean and deviation, per step
};

// What the predictive rule has learned: log2 of the largest gradient magnitude over the last steps.
struct GradientHistory {
  std::int64_t steps = 0;  // learned from
  double mean = 0, variance = 0;
  bool overflowed = false;  // within the last growth_interval clean steps
  friend bool operator==(const GradientHistory&, const GradientHistory&) = default;
};

struct ScalerState {
  float scale = 1;
  int clean_steps = 0;  // since the scale last changed or a step overflowed
  int skips_in_a_row = 0;
  std::int64_t skips = 0;  // ever
  int tolerated = 0;       // overflows since the refill that did not lower the scale
  int skips_at_floor = 0;  // in a row
  bool enabled = true;     // of the scaler it belongs to
  GradientHistory history{};
  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

// What a step was like: all that the rule needs to know of it.
struct ScalerEvent {
  bool found_inf = false;        // a gradient was not finite: the step is skipped
  bool loss_not_finite = false;  // nor was the loss before scaling: skipped, and no scale cures that
  // Gradient of the losses as they were before scaling (sums, where they have weights); -inf if all are 0.
  double log2_largest = -std::numeric_limits<double>::infinity();
};

// The whole loss-scale rule, a pure function. The scale stays within [min_scale, max_scale].
ScalerState next(const ScalerState& state, const ScalerOptions& options, const ScalerEvent& event);

// A limit on skips in a row has been reached: training can not go on.
bool gives_up(const ScalerState& state, const ScalerOptions& options);

// Throws ValueError naming the first option that is out of range (a factor that is not finite, a growth
// factor below 1, a back-off outside (0, 1], an interval below 1, a scale whose reciprocal is not finite...).
void validate(const ScalerOptions& options);

// The defaults of other systems, by name. Where one has no floor or no ceiling, halftone's hold, and the
// limit on skips in a row holds for all (law 5).
struct ScalerPolicy {
  std::string_view name;
  ScalerOptions options;
  std::string_view source;
};

// clang-format off
inline constexpr ScalerPolicy kScalerPolicies[] = {
    {"pytorch", {}, "torch.amp.GradScaler: init_scale 2^16, growth_factor 2, backoff_factor 0.5, growth_interval 2000"},
    {"megatron", {.init_scale = 4294967296, .growth_interval = 1000, .max_scale = 4294967296, .hysteresis = 2},
     "Megatron-LM: --initial-loss-scale 2^32, --loss-scale-window 1000, --hysteresis 2, --min-loss-scale 1"},
    {"deepspeed", {.growth_interval = 1000, .hysteresis = 2, .max_skips_at_floor = 1},
     "DeepSpeed: initial_scale_power 16, loss_scale_window 1000, hysteresis 2, min_loss_scale 1, an error at the minimum"},
    {"deepspeed_consecutive",
     {.growth_interval = 1000, .hysteresis = 2, .refill = Refill::every_clean_step, .max_skips_at_floor = 1},
     "DeepSpeed with consecutive_hysteresis"},
    {"keras", {.init_scale = 32768}, "keras.optimizers.LossScaleOptimizer: initial_scale 2^15, dynamic_growth_steps 2000"},
    {"predictive", {.init_scale = 1, .rule = ScalerRule::predictive},
     "OpenSeq2Seq's LogMaxScaler: 3.09 deviations above the mean (it has growth_interval 1 and does not back off)"},
};
// clang-format on

// Throws ValueError listing the names; find_scaler_policy_if returns null instead.
const ScalerPolicy& find_scaler_policy(std::string_view name);
const ScalerPolicy* find_scaler_policy_if(std::string_view name);

}  // namespace halftone::amp
