// SPDX-License-Identifier: Apache-2.0
//
// Causal self-attention (Vaswani et al. 2017): one matmul makes queries, keys and values; the
// heads are read where they lie in its result.
#include "halftone/nn.h"
#include "nn/init.h"

namespace halftone::nn {
namespace {

int divided(int width, int heads) {
  check_sizes("CausalSelfAttention", {width, heads});
  if (width % heads != 0)
    throw ValueError("CausalSelfAttention",
                     "width " + std::to_string(width) + " and " + std::to_string(heads) + " heads",
                     "a number of heads that divides the width");
  return width;
}

}  // namespace

CausalSelfAttention::CausalSelfAttention(int width, int heads)
    : qkv(divided(width, heads), 3 * width), project(width, width), heads(heads) {}

Tensor CausalSelfAttention::operator()(const Tensor& x) const {
  const std::int64_t width = project.weight.size(0);
  if (x.rank() != 3 || x.size(2) != width)
    throw ShapeError("CausalSelfAttention", "x " + to_string(x.shape()),
                     "(batch, context, " + std::to_string(width) + ")");
  return project(self_attention(qkv(x), heads, {.causal = true}));
}

}  // namespace halftone::nn
