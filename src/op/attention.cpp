// SPDX-License-Identifier: Apache-2.0
//
// attention (Vaswani et al. 2017) of separate queries, keys and values. Scores and their softmax stay in
// float32; P is rounded once for the second product. Several heads of q may share one of k and v (Ainslie et
// al. 2023). Formulas: attention_parts.h.
#include <cmath>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/attention_parts.h"

namespace halftone {
namespace {

AttentionOperands operands(std::span<const Tensor> inputs) { return {inputs[0], inputs[1], inputs[2]}; }

const Op attention_op{
    .name = "attention",
    .cast = CastPolicy::compute,
    .operands = 3,
    .keeps = {Operand::x0, Operand::x1, Operand::x2, Operand::y},
    .forward =
        [](Call& call) {
          const auto& rule = call.as<AttentionRule>();
          const AttentionOperands x = operands(call.inputs);
          Tensor y = empty_heads(x.q.shape(), call.result);
          call.saved = attend(call.backend, x, visible_keys(x, call.inputs[3], rule.causal), rule.factor, y);
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const auto gradient = [&](int input) {
            return call.gradients.wanted(input) ? empty_heads(call.shapes[static_cast<std::size_t>(input)],
                                                              call.gradients.dtype(input))
                                                : Tensor();
          };
          const Tensor dx[] = {gradient(0), gradient(1), gradient(2)};
          attend_backward(call.backend, operands(call.inputs), call.saved, call.as<AttentionRule>().factor,
                          call.output, call.gradient, operands(dx));
          for (int input = 0; input < 3; ++input)
            if (dx[input]) call.gradients.deliver(input, dx[input]);
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 2, 5, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}, AttentionRule{true, 0.5}},
              {{{{2, 4, 3, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}, AttentionRule{true, 0.5}},
              {{{{3, 2, 5, 4}}, {{3, 1, 6, 4}}, {{3, 1, 6, 4}}, {{3}, 0, 7, int32, false}},
               AttentionRule{false, 0.5}}};
        },
};
const Register registered(attention_op);

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const bool fits = q.rank() == 4 && k.rank() == 4 && v.shape() == k.shape() && q.size(0) == k.size(0) &&
                    k.size(1) > 0 && q.size(1) % k.size(1) == 0 && q.size(3) == k.size(3);
  if (!fits)
    throw ShapeError("attention",
                     to_string(q.shape()) + ", " + to_string(k.shape()) + ", " + to_string(v.shape()),
                     "q (batch, heads, queries, head_width), k and v of one shape (batch, kv_heads, keys, "
                     "head_width), heads a multiple of kv_heads");
  check_lengths("attention", q.size(0), k.size(2), options.lengths);
  const double factor = options.factor != 0 ? options.factor : 1 / std::sqrt(static_cast<double>(q.size(-1)));
  return apply(attention_op, {q, k, v, options.lengths}, AttentionRule{options.causal, factor});
}

}  // namespace halftone
