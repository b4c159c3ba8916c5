// SPDX-License-Identifier: Apache-2.0
//
// A kernel that computes in float32 serves a call whose operands and result all fit in it; float64 goes
// through the loops.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "halftone/backend.h"

namespace halftone {

// The backend's kernel of that name, or nullptr if it has none or something is float64.
inline Kernel float32_kernel(const Backend& backend, std::span<const Tensor> in, const Tensor& out,
                             std::string_view name) {
  const auto wide = [](const Tensor& x) { return x && x.dtype() == float64; };
  return wide(out) || std::any_of(in.begin(), in.end(), wide) ? nullptr : backend.find(name);
}

}  // namespace halftone
