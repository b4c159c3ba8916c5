// SPDX-License-Identifier: Apache-2.0
//
// Narrow copies of parameters, so that a weight is cast once per update and not once per use. A copy is kept
// with the storage of the parameter and keyed by (version, format): it can not be stale (law 6), and it has
// no history, so gradients always go straight to the parameter, in float32.
#pragma once

#include "halftone/tensor.h"

namespace halftone {

// x in `dtype`: x itself, a copy from the cache if x is a parameter or a view of one, or a fresh copy.
Tensor cast_operand(const Tensor& x, DType dtype);

// Drops the copies made on this thread since the last call, except those that an optimizer keeps up to date.
void release_autocast_casts();

}  // namespace halftone
