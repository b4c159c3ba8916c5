// SPDX-License-Identifier: Apache-2.0
//
// The contractions, forwarded to oneDNN, or to the reference where float32 cannot hold an operand; and the
// kernels of named ops.
#include "backend/cpu/cpu.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn_loops.h"
#include "backend/cpu/precision.h"

namespace halftone {
namespace {

using cpu::is_wide;
using cpu::reference_backend;

bool wide(const Convolution& call) {
  return is_wide(call.image) || is_wide(call.filter) || is_wide(call.bias) || is_wide(call.result);
}

}  // namespace

void Cpu::matmul(const Matmul& call) const {
  if (is_wide(call.a) || is_wide(call.b) || is_wide(call.c) || is_wide(call.bias))
    return reference_backend().matmul(call);
  cpu::matmul(call);
}

void Cpu::convolution(const Convolution& call) const {
  wide(call) ? reference_backend().convolution(call) : cpu::convolution(call);
}

void Cpu::convolution_image_gradient(const Convolution& call) const {
  wide(call) ? reference_backend().convolution_image_gradient(call) : cpu::convolution_image_gradient(call);
}

void Cpu::convolution_filter_gradient(const Convolution& call) const {
  wide(call) ? reference_backend().convolution_filter_gradient(call) : cpu::convolution_filter_gradient(call);
}

Kernel Cpu::find(std::string_view name) const { return cpu::find_kernel(name); }

}  // namespace halftone
