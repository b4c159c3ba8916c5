// SPDX-License-Identifier: Apache-2.0
//
// What sum and mean share: the shape of a reduction and its gradient, which spreads dy over the reduced axes.
#pragma once

#include <vector>

#include "halftone/op.h"

namespace halftone {

struct ReduceOptions {
  std::vector<int> axes;  // none: all
  bool keep_axes = false;
  bool divide = false;  // by the number of elements reduced
};

Tensor reduce_forward(Call& call);
void reduce_backward(BackwardCall& call);
std::vector<Tensor> reduce_differentiate(const DifferentiateCall& call);

}  // namespace halftone
