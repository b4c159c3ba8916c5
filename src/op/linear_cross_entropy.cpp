// SPDX-License-Identifier: Apache-2.0
//
// linear_cross_entropy: the cross-entropy of the result of a linear layer.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            CrossEntropyOptions options) {
  return cross_entropy(linear(x, weight), targets, options);
}

}  // namespace halftone
