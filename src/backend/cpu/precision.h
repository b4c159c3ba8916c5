// SPDX-License-Identifier: Apache-2.0
//
// Which formats float32 can hold.
#pragma once

#include "backend/precision.h"
#include "backend/reference/reference.h"

namespace halftone::cpu {

using halftone::any_wide;
using halftone::is_wide;

// Every value of the format is a float32.
inline bool fits_float32(DType dtype) {
  return dtype.is_floating() ? !is_wide(dtype) : dtype.format().mantissa_bits <= 24;
}

inline bool all_fit_float32(std::span<const Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& x) { return fits_float32(x.dtype()); });
}

// Where calls go that float32 cannot serve.
inline const Reference& reference_backend() {
  static const Reference reference;
  return reference;
}

}  // namespace halftone::cpu
