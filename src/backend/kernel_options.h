// SPDX-License-Identifier: Apache-2.0
//
// Options of the named kernels (Backend::find), shared by the backends that have them and the ops that ask.
#pragma once

namespace halftone {

// "batch_norm.forward":  in {x (.., C), weight, bias}; out {y, mean, inverse_deviation, variance}: the
// batch's
//                        statistics over all axes but the last, float32 (C), the variance biased.
// "batch_norm.backward": in {x, weight, mean, inverse_deviation, dy}; out {dx, dweight, dbias}, the last two
//                        float32 (C).
struct BatchNormOptions {
  double epsilon;
};

// "max_pool2d.forward":  in {x (batch, height, width, C)}; out {y, argmax}: uint8, the index within the
// window,
//                        row-major; of equal maxima the first wins, and a NaN wins over all.
// "max_pool2d.backward": in {dy, argmax}; out {dx}.
// "avg_pool2d.forward":  in {x}; out {y}. "avg_pool2d.backward": in {dy}; out {dx}.
// Windows of size x size move by their size, which divides height and width. Every element of dx is written.
struct PoolOptions {
  int size;
};

}  // namespace halftone
