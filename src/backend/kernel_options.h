// SPDX-License-Identifier: Apache-2.0
//
// Options of the named kernels (Backend::find), shared by the backends that have them and the ops that ask.
#pragma once

#include "halftone/tensor.h"

namespace halftone {

// "batch_norm.forward":  in {x (.., C), weight, bias}; out {y, mean, inverse_deviation, variance}: the
// batch's
//                        statistics over all axes but the last, float32 (C), the variance biased.
// "batch_norm.backward": in {x, weight, mean, inverse_deviation, dy}; out {dx, dweight, dbias}, the last two
//                        float32 (C).
struct BatchNormOptions {
  double epsilon;
};

// "layer_norm.forward":  in {x (.., width), weight, bias}; out {y}. "rms_norm.forward": in {x, weight}; out
// {y}. "layer_norm.backward": in {x, weight, dy}; out {dx, dweight, dbias}, the last two float32 (width).
// "rms_norm.backward":   in {x, weight, dy}; out {dx, dweight}.
struct NormOptions {
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

// "attention.forward":  in {q, k, v, visible}; out {y, log_total}: visible, int32 (batch, queries), is how
// many
//                       keys a query sees; log_total, float32 (batch, heads, queries), the logarithm of the
//                       sum of its exponentials, infinity for a query that sees none.
// "attention.backward": in {q, k, v, visible, y, log_total, dy}; out {dq, dk, dv}, each undefined if not
// wanted. q (batch, heads, queries, width), k and v (batch, kv_heads, keys, width); elements of a row are
// neighbours.
struct AttentionKernelOptions {
  double factor;
  DType rounded;  // what probabilities and their gradients are rounded to for the next product
};

}  // namespace halftone
