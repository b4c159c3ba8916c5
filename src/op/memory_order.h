// SPDX-License-Identifier: Apache-2.0
//
// Results that lie in memory as their operand does, so that what reads them next (a linear layer, behind a
// transposition of heads) finds rows where it wants them.
#pragma once

#include "halftone/tensor.h"

namespace halftone {

// Uninitialised, of x's shape, without gaps, its axes in the order of x's strides but for the last, which is
// innermost.
Tensor in_order_of(const Tensor& x, DType dtype);

}  // namespace halftone
