// SPDX-License-Identifier: Apache-2.0
//
// What attention and self_attention share: the definition, written in the loops of a backend, and the choice
// of a backend's own kernel ("attention.forward" and ".backward") where it has one.
#pragma once

#include "backend/kernel_options.h"
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {

// q (batch, heads, queries, width), k and v (batch, groups, keys, width), heads a multiple of groups;
// lengths int32 (batch), or undefined. Any strides.
struct Attended {
  Tensor q, k, v, lengths;
};

// Of a call, for q and k as above: the factor, and with dropout in training the place of its random numbers,
// which are taken here; so backward and the recomputation of a checkpoint drop the same. Throws ValueError
// for a probability that is none.
AttentionKernelOptions kernel_options(const char* op, const AttentionOptions& options, const Shape& q,
                                      std::int64_t keys);

// Writes y, of the shape of q. Returns what backward wants to know of each query, (batch, heads, queries, 2):
// its largest score m (in the unit of a backend's own kernel) and the sum of exp(score - m).
Tensor attend(const Backend& backend, const Attended& x, const AttentionKernelOptions& options,
              const Tensor& y);

// Writes the gradients that are defined.
struct AttendedGradients {
  Tensor q, k, v;
};
void attend_backward(const Backend& backend, const Attended& x, const AttentionKernelOptions& options,
                     const Tensor& y, const Tensor& statistics, const Tensor& dy,
                     const AttendedGradients& to);

// The same in ops, in the formats asked for.
AttendedGradients attend_differentiate(const Attended& x, const AttentionKernelOptions& options,
                                       const Tensor& dy, DType q, DType k, DType v);

// The lengths without gaps; undefined if they are. Throws for lengths that are not int32 (batch), each from 0
// to the number of keys.
Tensor checked_lengths(const char* op, std::int64_t batch, std::int64_t keys, const Tensor& lengths);

// For backward: a caller may use the same tensor for the next batch.
Tensor copy_of_lengths(const Backend& backend, const Tensor& lengths);

}  // namespace halftone
