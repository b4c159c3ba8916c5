// SPDX-License-Identifier: Apache-2.0
//
// What attention and self_attention share: scaled dot-product attention on views of queries, keys and values,
//   y = P v, P = softmax(q k^T factor) over the keys that a query sees,
//   dv = P^T dy,  dP = dy v^T,  dS = P (dP - <P, dP>) factor,  dq = dS k,  dk = dS^T q,
// as the backend's own kernel, which keeps no scores, or by its definition in matrix products and row
// formulas.
#pragma once

#include <vector>

#include "halftone/op.h"

namespace halftone {

// Options of both ops.
struct AttentionRule {
  bool causal;
  double factor;
  int heads = 0;  // of self_attention
};

// (batch, heads, rows, width), heads of q a multiple of those of k and v.
struct AttentionOperands {
  Tensor q, k, v;
};

// How many keys each query sees, int32 (batch, queries): the last query sees as far as the last key. lengths:
// int32 (batch) or undefined.
Tensor visible_keys(const AttentionOperands& x, const Tensor& lengths, bool causal);

// Zeros of nothing yet: (batch, heads, rows, width) in the memory order (batch, rows, heads, width), in which
// the linear layers around attention need no copy.
Tensor empty_heads(const Shape& shape, DType dtype);

// Writes y and returns what backward needs besides the operands and y.
std::vector<Tensor> attend(const Backend& backend, const AttentionOperands& x, const Tensor& visible,
                           double factor, const Tensor& y);

// Writes those of dq, dk, dv that are defined.
void attend_backward(const Backend& backend, const AttentionOperands& x, std::span<const Tensor> saved,
                     double factor, const Tensor& y, const Tensor& dy, const AttentionOperands& gradients);

// Throws unless lengths is int32 (batch), from 0 to the number of keys.
void check_lengths(std::string_view op, std::int64_t batch, std::int64_t keys, const Tensor& lengths);

}  // namespace halftone
