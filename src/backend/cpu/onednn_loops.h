// SPDX-License-Identifier: Apache-2.0
//
// The contractions of the cpu backend, by oneDNN: what Cpu (cpu.h) forwards to.
#pragma once

#include "halftone/backend.h"

namespace halftone::cpu {

void matmul(const Matmul& call);
void convolution(const Convolution& call);
void convolution_image_gradient(const Convolution& call);
void convolution_filter_gradient(const Convolution& call);

}  // namespace halftone::cpu
