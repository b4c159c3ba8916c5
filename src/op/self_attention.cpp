// SPDX-License-Identifier: Apache-2.0
//
// self_attention: attention whose queries, keys and values are the thirds of one tensor, read where they lie;
// the gradient of that tensor is written once. Formulas: attention_parts.h.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/attention_parts.h"

namespace halftone {
namespace {

// (batch, context, parts x heads x head_width): part number `part` as (batch, heads, context, head_width).
Tensor part(const Tensor& x, int parts, int number, int heads) {
  const Shape &s = x.shape(), &t = x.strides();
  const std::int64_t width = s[2] / parts, head = width / heads;
  return x.view({s[0], heads, s[1], head}, {t[0], head * t[2], t[1], t[2]},
                x.offset() + number * width * t[2]);
}

AttentionOperands thirds(const Tensor& x, int heads) {
  return {part(x, 3, 0, heads), part(x, 3, 1, heads), part(x, 3, 2, heads)};
}

const Op self_attention_op{
    .name = "self_attention",
    .cast = CastPolicy::compute,
    .operands = 1,
    .keeps = {Operand::x0, Operand::y},
    .forward =
        [](Call& call) {
          const auto& rule = call.as<AttentionRule>();
          const Tensor& qkv = call.inputs[0];
          const AttentionOperands x = thirds(qkv, rule.heads);
          Tensor y({qkv.size(0), qkv.size(1), qkv.size(2) / 3}, call.result);
          call.saved = attend(call.backend, x, visible_keys(x, call.inputs[1], rule.causal), rule.factor,
                              part(y, 1, 0, rule.heads));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const auto& rule = call.as<AttentionRule>();
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          attend_backward(call.backend, thirds(call.inputs[0], rule.heads), call.saved, rule.factor,
                          part(call.output, 1, 0, rule.heads), part(call.gradient, 1, 0, rule.heads),
                          thirds(dx, rule.heads));
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 5, 24}}}, AttentionRule{true, 0.5, 2}},
              {{{{2, 3, 12}}, {{2}, 0, 4, int32, false}}, AttentionRule{false, 0.5, 1}}};
        },
};
const Register registered(self_attention_op);

}  // namespace

Tensor self_attention(const Tensor& qkv, int heads, const AttentionOptions& options) {
  if (qkv.rank() != 3 || heads < 1 || qkv.size(2) % (3 * heads) != 0)
    throw ShapeError("self_attention", fmt::format("{} with {} heads", to_string(qkv.shape()), heads),
                     "(batch, context, 3 width), width a multiple of the heads");
  check_lengths("self_attention", qkv.size(0), qkv.size(1), options.lengths);
  const double head_width = static_cast<double>(qkv.size(2)) / (3 * heads);
  const double factor = options.factor != 0 ? options.factor : 1 / std::sqrt(head_width);
  return apply(self_attention_op, {qkv, options.lengths}, AttentionRule{options.causal, factor, heads});
}

}  // namespace halftone
