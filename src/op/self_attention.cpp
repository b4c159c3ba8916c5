// SPDX-License-Identifier: Apache-2.0
//
// self_attention: attention whose queries, keys and values are the thirds of one tensor.
#include <fmt/format.h>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {

Tensor self_attention(const Tensor& qkv, int heads, const AttentionOptions& options) {
  if (qkv.rank() != 3 || heads < 1 || qkv.size(2) % (3 * heads) != 0)
    throw ShapeError("self_attention", fmt::format("{} with {} heads", to_string(qkv.shape()), heads),
                     "(batch, context, 3 width), width a multiple of the heads");
  const std::int64_t batch = qkv.size(0), context = qkv.size(1), width = qkv.size(2) / 3;
  const auto part = [&](std::int64_t number) {
    const Tensor columns = slice(qkv, 2, number * width, (number + 1) * width);
    return transpose(reshape(columns, {batch, context, heads, width / heads}), 1, 2);
  };
  const Tensor mixed = attention(part(0), part(1), part(2), options);
  return reshape(transpose(mixed, 1, 2), {batch, context, width});
}

}  // namespace halftone
