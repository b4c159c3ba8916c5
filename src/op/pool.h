// SPDX-License-Identifier: Apache-2.0
//
// What the poolings share: an image seen as windows. (batch, height, width, channels) becomes, by strides
// alone, (batch, height / size, width / size, channels, size, size); copied out, every window is a row.
#pragma once

#include "halftone/op.h"

namespace halftone {

Tensor windows(const Tensor& image, int size);                              // the view
Tensor window_rows(const Backend& backend, const Tensor& image, int size);  // (windows, size^2), a copy
Shape pooled_shape(const Shape& image, int size);
// Throws ShapeError, also for a size above `most`.
void check_pool(std::string_view op, const Tensor& image, int size, int most);

// The other way round, made of ops: every pixel of x as a window of size x size.
Tensor enlarged(const Tensor& x, int size);

// A tensor as one column, so that a row formula gets one element per row.
Tensor as_column(const Backend& backend, const Tensor& x);

}  // namespace halftone
