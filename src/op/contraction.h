// SPDX-License-Identifier: Apache-2.0
//
// What matmul and linear share: a product delivered as a gradient, accumulated by the matmul itself into a
// float32 sum that has begun already (beta = 1), so that weight gradients are never rounded on the way.
#pragma once

#include "halftone/op.h"

namespace halftone {

// The last two axes exchanged.
Tensor transposed(const Tensor& x);

// The tensor as a matrix: all axes but the last joined. A matrix is itself, whatever its strides; of others
// those that are not contiguous are copied.
Tensor as_matrix(const Backend& backend, const Tensor& x);

// a b, in the shape of input number `input`, delivered as its gradient.
void deliver_product(BackwardCall& call, int input, const Tensor& a, const Tensor& b);

}  // namespace halftone
