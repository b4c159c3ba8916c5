// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/autograd.h"

namespace halftone::amp {

// The gradient of a parameter, contiguous and float32, or undefined. Throws DTypeError naming the parameter
// if it has another format.
Tensor gradient_of(const Parameter& parameter);

}  // namespace halftone::amp
