// SPDX-License-Identifier: Apache-2.0
//
// A kernel that computes in float32 serves a call whose operands and result all fit in it; wider formats go
// through the loops.
#pragma once

#include <span>
#include <string_view>

#include "backend/precision.h"
#include "halftone/backend.h"

namespace halftone {

// The backend's kernel of that name, or nullptr if it has none or something has more range or precision than
// float32. Undefined tensors have no say.
inline Kernel float32_kernel(const Backend& backend, std::span<const Tensor> in, const Tensor& out,
                             std::string_view name) {
  return is_wide(out) || any_wide(in) ? nullptr : backend.find(name);
}

}  // namespace halftone
