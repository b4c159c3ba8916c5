// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/tensor.h"

namespace halftone::amp {

// The largest finite magnitude in a contiguous tensor of any format; 0 if there is none. One pass.
float largest_magnitude(const Tensor& x);

}  // namespace halftone::amp
