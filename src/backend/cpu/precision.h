// SPDX-License-Identifier: Apache-2.0
//
// Which formats float32 can hold.
#pragma once

#include <algorithm>
#include <span>

#include "backend/reference/reference.h"

namespace halftone::cpu {

// Floating, with more range or precision than float32: arithmetic has to be done in double.
inline bool is_wide(DType dtype) {
  if (dtype == float32 || dtype == bfloat16 || dtype == float16) return false;  // nearly always
  const Format& format = dtype.format();
  return format.is_floating() && (format.precision() > 24 || max_finite(format) > 0x1.fffffep127 ||
                                  detail::least_exponent(format) < -149);
}
inline bool is_wide(const Tensor& tensor) { return tensor.defined() && is_wide(tensor.dtype()); }
inline bool any_wide(std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& x) { return is_wide(x); });
}

// Every value of the format is a float32.
inline bool fits_float32(DType dtype) {
  return dtype.is_floating() ? !is_wide(dtype) : dtype.format().mantissa_bits <= 24;
}

// Where calls go that float32 cannot serve.
inline const Reference& reference_backend() {
  static const Reference reference;
  return reference;
}

}  // namespace halftone::cpu
