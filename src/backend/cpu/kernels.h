// SPDX-License-Identifier: Apache-2.0
//
// The kernels of named ops that the cpu backend has; backend/kernel_options.h says what each one does.
// Operands have formats that float32 holds; results are row-major, or of
// any strides where kernel_options.h says so.
#pragma once

#include <string_view>

#include "halftone/backend.h"

namespace halftone::cpu {

// The kernel of that name (kernel_options.h lists them), or nullptr.
Kernel find_kernel(std::string_view name);

void attention_forward(const KernelCall& call);
void attention_backward(const KernelCall& call);
void batch_norm_forward(const KernelCall& call);
void batch_norm_backward(const KernelCall& call);
void layer_norm_forward(const KernelCall& call);
void layer_norm_backward(const KernelCall& call);
void rms_norm_forward(const KernelCall& call);
void rms_norm_backward(const KernelCall& call);
void max_pool2d_forward(const KernelCall& call);
void max_pool2d_backward(const KernelCall& call);
void avg_pool2d_forward(const KernelCall& call);
void avg_pool2d_backward(const KernelCall& call);
void rotary(const KernelCall& call);

}  // namespace halftone::cpu
