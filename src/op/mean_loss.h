// SPDX-License-Identifier: Apache-2.0
//
// Losses that are the mean of an elementwise formula of (x, target): the value in float32, and
// dx = dy f'(x, target) / count. Only x is differentiated.
#pragma once

#include "halftone/op.h"

namespace halftone {

// value(x, target); gradient(x, target, dy) with 1 / count as parameter 0.
Op mean_loss_op(std::string_view name, Formula value, Formula gradient,
                std::function<std::vector<Example>()> examples,
                std::function<std::vector<Tensor>(const DifferentiateCall&)> differentiate = {});

void check_loss(std::string_view op, const Tensor& x, const Tensor& target);  // throws ShapeError, ValueError

}  // namespace halftone
