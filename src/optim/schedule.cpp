// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "halftone/optim.h"

namespace halftone::optim {

double warmup_cosine(std::int64_t step, std::int64_t warmup_steps, std::int64_t total_steps, double peak,
                     double floor) {
  if (warmup_steps < 0 || total_steps < warmup_steps)
    throw ValueError("warmup_cosine",
                     fmt::format("warmup_steps = {}, total_steps = {}", warmup_steps, total_steps),
                     "0 <= warmup_steps <= total_steps");
  if (step < 0) throw ValueError("warmup_cosine", fmt::format("step = {}", step), "0 or more");
  if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (step >= total_steps) return floor;
  const double done =
      static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace halftone::optim
