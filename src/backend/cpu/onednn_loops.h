// SPDX-License-Identifier: Apache-2.0
//
// The contractions of the cpu backend, and its kernels for named ops: what Cpu (cpu.h) forwards to.
#pragma once

#include <string_view>

#include "halftone/backend.h"

namespace halftone::cpu {

void matmul(const Matmul& call);
void convolution(const Convolution& call);
void convolution_image_gradient(const Convolution& call);
void convolution_filter_gradient(const Convolution& call);

// The kernel of that name (kernel_options.h lists them), or nullptr.
Kernel find_kernel(std::string_view name);

}  // namespace halftone::cpu
