// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "halftone/optim.h"

namespace halftone::optim {

double clip_grad_norm(Optimizer& optimizer, double max_norm) {
  if (!(max_norm > 0 && std::isfinite(max_norm)))
    throw ValueError("clip_grad_norm", fmt::format("max_norm = {}", max_norm), "a positive finite norm");
  optimizer.expect_gradients("clip_grad_norm");
  const amp::GradientScan scan = amp::scan_gradients(optimizer.parameters(), 1);
  if (!scan.finite)
    throw NonFiniteError("clip_grad_norm", scan.culprit, "finite gradients",
                         "GradScaler::unscale first: it finds overflows and has the step skipped");
  const double norm = std::sqrt(scan.squared_norm);
  if (norm > max_norm) amp::scan_gradients(optimizer.parameters(), static_cast<float>(max_norm / norm));
  return norm;
}

}  // namespace halftone::optim
