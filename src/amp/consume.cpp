// SPDX-License-Identifier: Apache-2.0
//
// Gradients that are used up while backward is still at work. Each is looked at first: a step that can not be
// rejected as a whole must at least stop before it uses a gradient that is not finite.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "amp/optimizer_parts.h"
#include "halftone/grad_scaler.h"

namespace halftone::amp {

// What backward calls. An optimizer that took over the parameters has put its own in the place of this one.
struct Optimizer::Hook {
  Optimizer* optimizer;
  std::size_t index;
  void operator()() const { optimizer->consume(index); }
};

void Optimizer::consume_gradients(bool on, double clip_previous_norm) {
  if (!(clip_previous_norm >= 0 && std::isfinite(clip_previous_norm)))
    throw ValueError("consume_gradients", fmt::format("clip_previous_norm = {}", clip_previous_norm),
                     "a finite norm, or 0 for no clipping");
  if (!on && !consuming_) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& value = parameters_[i].value;
    if (!value.requires_grad()) continue;  // frozen since: it gets no gradient
    if (on) {
      set_gradient_hook(value, Hook{this, i});
    } else if (const Hook* set = gradient_hook(value).target<Hook>(); set && set->optimizer == this) {
      set_gradient_hook(value, {});
    }
  }
  if (on && consuming_ && consuming_->clip_norm == clip_previous_norm) return;  // its norm is state of a run
  const std::size_t count = parameters_.size();
  consuming_.reset(
      on ? new Consuming{clip_previous_norm, zeros({}), std::vector<bool>(count), std::vector<double>(count)}
         : nullptr);
}

void Optimizer::expect_gradients(std::string_view where) const {
  if (consuming_)
    throw ValueError(where, "an optimizer that consumes gradients as backward makes them",
                     "all gradients at once",
                     "consume_gradients(false); clip_previous_norm clips by the norm of the step before");
}

double Optimizer::consumed_norm() const { return consuming_ ? consuming_->norm : 0; }

void Optimizer::consume(std::size_t index) {
  Consuming& now = *consuming_;
  Parameter& parameter = parameters_[index];
  if (now.done[index])
    throw Error("optimizer", fmt::format("a second gradient of '{}' in one step", parameter.name),
                "one backward per step: gradients that are consumed can not add up",
                "step() or zero_grad() between two backward passes, or consume_gradients(false)");
  const GradientScan scan = scan_gradients(std::span(&parameter, 1), 1);
  if (!scan.finite) {
    std::string updated;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (now.done[i]) updated += (updated.empty() ? "" : ", ") + parameters_[i].name;
    throw NonFiniteError(
        "optimizer", scan.culprit, "finite gradients",
        updated.empty() ? "consume_gradients(false) to skip such steps; nothing was changed"
                        : fmt::format("the last saved state; already updated in this step: {}", updated));
  }
  if (!now.open) ++steps_;
  now.open = true;
  const double norm = now.previous_norm.item();
  update(index, now.clip_norm > 0 && norm > now.clip_norm ? static_cast<float>(now.clip_norm / norm) : 1.0f);
  parameter.value.zero_grad();
  now.done[index] = true;
  now.squares[index] = scan.squared_norm;
}

void Optimizer::finish_consuming() {
  Consuming& now = *consuming_;
  if (!now.open) return;
  double squares = 0;
  for (double& square : now.squares) squares += std::exchange(square, 0);
  now.norm = std::sqrt(squares);
  now.previous_norm.mutable_data<float>()[0] =
      static_cast<float>(std::min(now.norm, double{std::numeric_limits<float>::max()}));
  now.done.assign(now.done.size(), false);
  now.open = false;
}

}  // namespace halftone::amp
