// SPDX-License-Identifier: Apache-2.0
//
// Options of the named kernels (Backend::find), shared by the backends that have them and the ops that ask.
#pragma once

#include <cstdint>

namespace halftone {

// "attention.forward":  in {q (batch, heads, queries, width), k, v (batch, kv_heads, keys, width), lengths
//                       int32 (batch) or undefined}; out {y as q, statistics}: float32 (batch, heads,
//                       queries, 2) row-major, of each query what backward wants to know: its largest score
//                       m, in a unit of the backend's choice, and the sum of exp(score - m).
// "attention.backward": in {q, k, v, lengths, y, statistics, dy}; out {dq, dk, dv}, undefined where not
//                       wanted.
// All but lengths and statistics may have any strides. With a dropout probability, the share that a query
// has of a key counts 1 / (1 - probability) times if random_kept(seed, streams::dropout, first + index) of
// its row-major index in (batch, heads, queries, keys), and not at all otherwise; statistics are those
// without.
struct AttentionDropout {
  double probability = 0;
  std::uint64_t seed = 0, first = 0;

  double scale() const { return 1 / (1 - probability); }
};
struct AttentionKernelOptions {
  bool causal;
  double factor;
  AttentionDropout dropout{};
};

// "batch_norm.forward":  in {x (.., C), weight, bias}; out {y, mean, inverse_deviation, variance}: the
// batch's
//                        statistics over all axes but the last, float32 (C), the variance biased.
// "batch_norm.backward": in {x, weight, mean, inverse_deviation, dy}; out {dx, dweight, dbias}, the last two
//                        float32 (C).
struct BatchNormOptions {
  double epsilon;
};

// "layer_norm.forward":  in {x (.., width), weight, bias}; out {y}. "rms_norm.forward": in {x, weight}; out
// {y}. "layer_norm.backward": in {x, weight, dy, others}; out {dx, dweight, dbias}, the last two float32
// (width); others, as x or undefined, is added to dx before it is rounded. "rms_norm.backward": in {x,
// weight, dy, others}; out {dx, dweight}.
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

// "rotary": in {x (.., positions, width), cosines and sines float32 (positions, width) row-major}; out {y}. x
// and y of any strides.
struct RotaryKernelOptions {
  double direction;  // 1, or -1 to turn back
};

}  // namespace halftone
