// SPDX-License-Identifier: Apache-2.0
//
// What gradients are written with where they are graphs themselves (Op::differentiate), besides the ops of
// the catalogue. All of it can be differentiated any number of times.
#pragma once

#include <vector>

#include "halftone/op.h"

namespace halftone {

// The same values in the format in which they are added up.
Tensor widened(const Tensor& x);

// A number, without history, in the format of `like`.
Tensor constant(double value, const Tensor& like);

// x of a broadcast shape, summed onto `shape`; and x spread over the larger `shape` that it broadcasts to.
Tensor summed_onto(const Tensor& x, const Shape& shape);
Tensor spread(const Tensor& x, const Shape& shape);

// x where the mask (an integer tensor) is not zero, else 0. Shapes broadcast.
Tensor select(const Tensor& x, const Tensor& mask);

// a b as matmul, in the format asked for (defined in matmul.cpp).
Tensor product(const Tensor& a, const Tensor& b, DType result);

// The largest element of each row (the last axis), which is kept with size 1; and where it is not -infinity,
// as an integer tensor. Without history.
Tensor row_peaks(const Tensor& x);
Tensor not_masked(const Tensor& x);

Tensor exchanged(const Tensor& x);    // the last two axes
Tensor joined_rows(const Tensor& x);  // (everything but the last axis, last axis)

// h = (x - mean) / sqrt(variance + epsilon) along the axes, and the gradient of x given g, that of h.
struct Normalised {
  Tensor h, inverse;  // 1 / sqrt(variance + epsilon)
};
Normalised normalised(const Tensor& x, const std::vector<int>& axes, double epsilon);
Tensor normalised_gradient(const Normalised& n, const Tensor& g, const std::vector<int>& axes);

}  // namespace halftone
