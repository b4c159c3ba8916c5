// SPDX-License-Identifier: Apache-2.0
//
// Which formats a loop or a kernel that computes in float32 cannot serve.
#pragma once

#include <algorithm>
#include <span>

#include "halftone/tensor.h"

namespace halftone {

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

}  // namespace halftone
