// SPDX-License-Identifier: Apache-2.0
//
// What a step says of itself, and the one error that ends a training whose steps are all skipped.
#include <fmt/format.h>

#include "halftone/error.h"
#include "halftone/grad_scaler.h"

namespace halftone::amp {

std::string StepResult::describe() const {
  switch (outcome) {
    case StepOutcome::applied:
      return fmt::format("applied: scale {}, gradient norm {:.4g}", scale, gradient_norm);
    case StepOutcome::skipped_overflow:
      return fmt::format("skipped (overflow, {} in a row) at scale {}{}: {}", skips_in_a_row, scale,
                         skips_at_floor > 0 ? ", which is its floor" : "", culprit);
    case StepOutcome::nothing_to_do:
      return fmt::format("nothing to do: {}", culprit.empty() ? "no parameter has a gradient" : culprit);
    case StepOutcome::loss_not_finite:
      return fmt::format("skipped ({} in a row): {}", skips_in_a_row, culprit);
  }
  return "?";
}

void throw_non_finite(std::string_view where, const StepResult& result) {
  const bool row = result.skips_in_a_row > 1;
  if (result.outcome == StepOutcome::loss_not_finite)
    throw NonFiniteError(
        where,
        row ? fmt::format("{} steps skipped in a row, the last because {}", result.skips_in_a_row,
                          result.culprit)
            : result.culprit,
        "a finite loss",
        "looking for NaN in the inputs, a learning rate that is too high, or activations beyond the range "
        "of the compute format (bfloat16 has that of float32): no loss scale cures this");
  const std::string floor =
      result.skips_at_floor > 0 ? fmt::format(" ({} at that floor)", result.skips_at_floor) : std::string();
  throw NonFiniteError(
      where,
      fmt::format("{} steps skipped in a row, the last at scale {}{} because of {}", result.skips_in_a_row,
                  result.scale, floor, result.culprit),
      "finite gradients",
      "looking for NaN in the inputs, a learning rate that is too high, or values beyond the range of "
      "the compute format: this is not a scaling problem");
}

}  // namespace halftone::amp
