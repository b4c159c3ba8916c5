// SPDX-License-Identifier: Apache-2.0
//
// Causal self-attention (Vaswani et al. 2017): one matmul makes queries, keys and values; the heads are views
// of its result, so nothing is copied on the way into the kernel.
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
  const std::int64_t batch = x.size(0), context = x.size(1);
  const Tensor joint = qkv(x);
  const auto part = [&](std::int64_t number) {
    const Tensor columns = slice(joint, 2, number * width, (number + 1) * width);
    return transpose(reshape(columns, {batch, context, heads, width / heads}), 1, 2);
  };
  const Tensor mixed = causal_attention(part(0), part(1), part(2));
  return project(reshape(transpose(mixed, 1, 2), {batch, context, width}));
}

}  // namespace halftone::nn
