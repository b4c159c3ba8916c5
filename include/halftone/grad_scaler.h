// SPDX-License-Identifier: Apache-2.0
//
// Loss scaling: the rule, a pure function, and the scaler that applies it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "halftone/optimizer.h"
#include "halftone/tensor.h"

namespace halftone::amp {

struct ScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int growth_interval = 2000;  // clean steps in a row before the scale grows
  double min_scale = 1;
  double max_scale = 16777216;  // 2^24: a larger scale helps no float16 gradient
  int max_skips_in_a_row = 50;  // then step() throws NonFiniteError naming the first culprit
  bool enabled = true;  // disabled: the scale is 1, non-finite gradients are still skipped and counted
};

struct ScalerState {
  float scale = 1;
  int clean_steps = 0;  // since the scale last changed
  int skips_in_a_row = 0;
  std::int64_t skips = 0;  // ever
  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

// The whole loss-scale rule, a pure function: exponential back-off on an overflow, growth after
// growth_interval clean steps, both clamped to [min_scale, max_scale]. With `found_inf` the step is skipped.
ScalerState next(const ScalerState& state, const ScalerOptions& options, bool found_inf);

// Throws ValueError naming the first option that is out of range (a factor that is not finite, a growth
// factor below 1, a back-off outside (0, 1], an interval below 1, a scale whose reciprocal is not finite...).
void validate(const ScalerOptions& options);

enum class StepOutcome : std::uint8_t { applied, skipped_overflow, nothing_to_do };

struct StepResult {
  StepOutcome outcome = StepOutcome::nothing_to_do;
  float scale = 1;          // the scale that produced these gradients
  float gradient_norm = 0;  // after unscaling, before clipping; 0 if not computed
  int skips_in_a_row = 0;
  std::string culprit;  // on an overflow: which gradient, how many, inf or NaN
  bool applied() const { return outcome == StepOutcome::applied; }
  std::string describe() const;  // one line
};

// The field's loss scaler. Order per step: scale -> backward -> unscale (optional) -> step -> update.
class GradScaler {
 public:
  explicit GradScaler(ScalerOptions options = {});  // validates

  Tensor scale(const Tensor& loss) const;  // float32, times the scale
  // Divides the gradients by the scale that produced them and looks for non-finite values, once per step: a
  // second call before update() throws ValueError before it touches a gradient. If it finds one, it clears
  // all gradients, so that what a program does before step() (clipping, logging) does not meet it.
  void unscale(Optimizer& optimizer);
  // Unscales if that was not done, then lets the optimizer step unless a gradient was not finite. A skipped
  // step clears the gradients, so that nothing non-finite is carried over. With clip_norm, the optimizer
  // reads the gradients scaled so that their joint norm is at most that (no pass of its own, unlike
  // clip_grad_norm).
  StepResult step(Optimizer& optimizer, double clip_norm = 0);
  void update();   // moves the scale by next(); after an overflow, a clean step or nothing at all
  void abandon();  // forgets the current window: unscale is legal again, the scale does not move

  const ScalerOptions& options() const { return options_; }
  const ScalerState& state() const { return state_; }
  void load(const ScalerState& state);  // before or after first use; validates

 private:
  ScalerOptions options_;
  ScalerState state_;
  bool unscaled_ = false, found_inf_ = false, has_gradients_ = false, stepped_ = false;
  float norm_ = 0;
  std::string culprit_;
};

// One pass over all gradients: multiplies by `factor`, counts non-finite results and sums squares.
struct GradientScan {
  double squared_norm = 0;
  std::int64_t gradients = 0;  // parameters that had one
  bool finite = true;
  std::string culprit;  // "conv1.weight: 3 inf, 0 NaN of 288"
};
GradientScan scan_gradients(std::span<const Parameter> parameters, float factor);

}  // namespace halftone::amp
