// SPDX-License-Identifier: Apache-2.0
//
// How layer_norm and rms_norm reach the backend's kernels, "NAME.forward" and "NAME.backward". Backward takes
// the gradients that came to x on other ways, so that where a residual branch ends no pass adds them.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "backend/kernel_options.h"
#include "halftone/op.h"
#include "op/float32_kernel.h"

namespace halftone {

// False if the backend has no kernel for the call; then nothing has been done.
inline bool norm_forward(const Call& call, std::string_view kernel, const Tensor& y) {
  const Kernel fused = float32_kernel(call.backend, call.inputs, y, kernel);
  if (!fused) return false;
  fused({call.inputs, std::span(&y, 1), NormOptions{call.as<double>()}});
  return true;
}

// Delivers the gradients of x and of the parameters (two or one), or does nothing and returns false.
inline bool norm_backward(BackwardCall& call, std::string_view kernel) {
  const Tensor& x = call.inputs[0];
  const bool wanted = call.gradients.wanted(0);
  const Kernel fused = float32_kernel(call.backend, std::array{x, call.inputs[1], call.gradient}, {}, kernel);
  if (!fused || (wanted && is_wide(call.gradients.dtype(0)))) return false;
  const Tensor others = wanted ? call.gradients.take_sum(0) : Tensor();
  const Shape& width = call.inputs[1].shape();
  const Tensor in[] = {x, call.inputs[1], call.gradient, others},
               out[] = {Tensor(x.shape(), wanted ? call.gradients.dtype(0) : float32), Tensor(width, float32),
                        Tensor(width, float32)};
  const std::size_t inputs = call.shapes.size();
  fused({in, std::span(out).first(inputs), NormOptions{call.as<double>()}});
  for (std::size_t i = 0; i < inputs; ++i)
    if (call.gradients.wanted(static_cast<int>(i))) call.gradients.deliver(static_cast<int>(i), out[i]);
  return true;
}

}  // namespace halftone
