// SPDX-License-Identifier: Apache-2.0
//
// The heads of attention lie side by side in a row: seen as an axis of their own, and back.
#pragma once

#include "halftone/ops.h"

namespace halftone::models {

// (batch, tokens, heads * head_width) as (batch, heads, tokens, head_width).
inline Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
inline Tensor merge_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace halftone::models
