// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "halftone/autograd.h"

namespace halftone {
namespace {

thread_local NonFiniteWatch* active = nullptr;

}  // namespace

NonFiniteWatch::NonFiniteWatch() : outer_(active) { active = this; }
NonFiniteWatch::~NonFiniteWatch() { active = outer_; }

bool NonFiniteWatch::watching() { return active != nullptr; }

void NonFiniteWatch::see(const Tensor& value, std::string_view op, std::string_view direction,
                         std::string_view layer) {
  if (active == nullptr) return;
  if (!layer.empty()) active->last_layer_ = layer;
  if (active->first_ || !value || !value.dtype().is_floating()) return;
  NonFinite found{std::string(op), std::string(direction), active->last_layer_};
  for (const double x : value.to_vector()) {
    found.infinities += std::isinf(x);
    found.nans += std::isnan(x);
  }
  if (found.infinities + found.nans > 0) active->first_ = found;
}

std::string NonFinite::describe() const {
  return fmt::format("{} {}{}: {} infinities, {} NaNs", op, direction, layer.empty() ? "" : " near " + layer,
                     infinities, nans);
}

}  // namespace halftone
