// SPDX-License-Identifier: Apache-2.0
//
// The scaler that applies the loss-scale rule to losses, gradients and optimizers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/loss_scale.h"
#include "halftone/optimizer.h"
#include "halftone/tensor.h"

namespace halftone::amp {

// One pass over all gradients: multiplies by `factor` with one rounding, counts non-finite results, sums
// squares and, if asked, finds the largest magnitude.
struct GradientScan {
  double squared_norm = 0;
  float largest = 0;           // magnitude, if it was asked for and all are finite
  std::int64_t gradients = 0;  // parameters that had one
  bool finite = true;
  std::string culprit;  // "conv1.weight: 3 inf, 0 NaN of 288"
};
GradientScan scan_gradients(std::span<const Parameter> parameters, double factor, bool want_largest = false);
// Every element into [-limit, limit]. Gradients must have been unscaled; a NaN stays one. Throws ValueError
// unless the limit is positive and finite.
void clip_values(std::span<const Parameter> parameters, double limit);

enum class StepOutcome : std::uint8_t { applied, skipped_overflow, nothing_to_do, loss_not_finite };

struct StepResult {
  StepOutcome outcome = StepOutcome::nothing_to_do;
  float scale = 1;           // the scale that produced these gradients
  double gradient_norm = 0;  // after unscaling, before clipping; 0 if not computed
  int skips_in_a_row = 0;
  int skips_at_floor = 0;  // in a row, the scale being as low as it may be
  std::string culprit{};   // which gradient, how many, inf or NaN; which micro-batch has what loss
  bool applied() const { return outcome == StepOutcome::applied; }
  std::string describe() const;  // one line
};

// Throws NonFiniteError with what the result says of its skip, and what to try.
[[noreturn]] void throw_non_finite(std::string_view where, const StepResult& result);

// The field's loss scaler. A window is what lies between two updates: scale -> backward (of any number of
// losses and micro-batches) -> unscale (optional) -> step -> update. Its losses all have the scale it began
// with. Several optimizers may share a scaler: each is unscaled and stepped once per window, one whose own
// gradients are finite steps although those of another are not (as in torch.amp), and update() sees the
// overflow of any. Independent scalers do not know of each other; reject() tells one.
class GradScaler {
 public:
  explicit GradScaler(ScalerOptions options = {});  // validates

  Tensor scale(const Tensor& loss);  // float32, times the scale
  // Divides the gradients by the scale that produced them (and by `weight`, the total weight of a sum of
  // losses), and looks for non-finite values, once per optimizer and window: a second call throws ValueError
  // before it touches a gradient, and so does an optimizer with a parameter of one that has been unscaled in
  // this window. If it finds one, it clears all gradients, so that what a program does
  // before step() (clipping, logging) does not meet it.
  void unscale(Optimizer& optimizer, double weight = 1);
  // Unscales if that was not done, then lets the optimizer step unless a gradient was not finite. A skipped
  // step clears the gradients, so that nothing non-finite is carried over. With clip_norm, the optimizer
  // reads the gradients scaled so that their joint norm is at most that (no pass of its own, unlike
  // clip_grad_norm). Past the limits of the options it throws NonFiniteError; the skip has been counted then
  // and the window is over.
  StepResult step(Optimizer& optimizer, double clip_norm = 0);
  void update();  // moves the scale by next(); after an overflow, a clean step or nothing at all
  void
  abandon();  // forgets the window: unscale is legal again, the scale does not move. Clear the gradients.
  // Instead of step() and update(), where a loss was not finite before scaling: the skip counts, the scale
  // does not move. Throws as step() does.
  StepResult reject_loss(std::string culprit);

  bool found_inf() const;  // in this window so far
  // An overflow that this scaler did not see, of another rank or scaler: no optimizer steps any more in this
  // window, and update() backs off.
  void reject(std::string culprit);

  const ScalerOptions& options() const { return options_; }
  const ScalerState& state() const { return state_; }  // its scale is 1 if disabled
  // Before or after first use, in any order with other state. Throws ValueError for what can not be a state
  // or is out of the options' range. Of the state of a disabled scaler an enabled one takes the counts of
  // skips and starts at its init_scale; a disabled one takes the counts of either.
  void load(const ScalerState& state);
  // Another scale, from the next window on. Clean steps count from 0; nothing else is forgotten, an overflow
  // in the window in progress included. Throws ValueError out of [min_scale, max_scale] or if disabled.
  void set_scale(double scale);

 private:
  struct Unscaled {
    const Optimizer* optimizer;
    GradientScan scan;
    double weight;
    std::vector<std::shared_ptr<AutogradSlot>> leaves{};  // whose gradients they are
    bool stepped = false;
  };
  void check_unshared(const Optimizer& optimizer) const;
  Unscaled* find(const Optimizer& optimizer);
  float window_scale() const { return window_scale_.value_or(state_.scale); }
  ScalerEvent event() const;

  ScalerOptions options_;
  ScalerState state_;
  std::optional<float> window_scale_;  // from the first scale() or unscale() of the window
  std::vector<Unscaled> unscaled_;
  std::string rejected_;  // why; empty if it was not
};

}  // namespace halftone::amp
