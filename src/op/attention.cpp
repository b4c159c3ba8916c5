// SPDX-License-Identifier: Apache-2.0
//
// attention of separate queries, keys and values; the definition is in attend.cpp. Results and gradients lie
// in memory as the operands do.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/attend.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

Attended operands(std::span<const Tensor> inputs) {
  return {inputs[0], inputs[1], inputs[2], inputs.size() > 3 ? inputs[3] : Tensor()};
}

const Op attention_op{
    .name = "attention",
    .cast = CastPolicy::compute,
    .operands = 3,
    .keeps = {Operand::x0, Operand::x1, Operand::x2, Operand::y},
    .forward =
        [](Call& call) {
          Tensor y = in_order_of(call.inputs[0], call.result);
          call.saved = {attend(call.backend, operands(call.inputs), call.as<AttentionKernelOptions>(), y)};
          if (call.inputs.size() > 3 && call.inputs[3])
            call.saved.push_back(copy_of_lengths(call.backend, call.inputs[3]));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          Attended x = operands(call.inputs);
          if (call.saved.size() > 1) x.lengths = call.saved[1];
          const auto gradient = [&](int input) {
            if (!call.gradients.wanted(input)) return Tensor();
            return in_order_of(call.inputs[static_cast<std::size_t>(input)], call.gradients.dtype(input));
          };
          AttendedGradients to{gradient(0), gradient(1), gradient(2)};
          attend_backward(call.backend, x, call.as<AttentionKernelOptions>(), call.output, call.saved[0],
                          call.gradient, to);
          if (to.q) call.gradients.deliver(0, std::move(to.q));
          if (to.k) call.gradients.deliver(1, std::move(to.k));
          if (to.v) call.gradients.deliver(2, std::move(to.v));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 2, 5, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}, AttentionKernelOptions{true, 0.5}},
              {{{{2, 4, 3, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}, AttentionKernelOptions{true, 0.5}},
              {{{{3, 2, 5, 4}}, {{3, 1, 6, 4}}, {{3, 1, 6, 4}}, {{3}, 0, 7, int32, false}},
               AttentionKernelOptions{false, 0.5}},
              {{{{2, 4, 5, 4}}, {{2, 2, 6, 4}}, {{2, 2, 6, 4}}},
               AttentionKernelOptions{true, 0.5, {.probability = 0.4, .seed = 3, .first = 1}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          Attended x = operands(call.inputs);
          if (call.saved.size() > 1) x.lengths = call.saved[1];
          const auto format = [&](int input) {
            return call.wanted(input) ? call.gradients.dtype(input) : float32;
          };
          const AttendedGradients d = attend_differentiate(x, call.as<AttentionKernelOptions>(),
                                                           call.gradient, format(0), format(1), format(2));
          return std::vector{d.q, d.k, d.v};
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
  if (options.kv_heads != 0 && options.kv_heads != k.size(1))
    throw ShapeError("attention", fmt::format("{} kv_heads and {}", options.kv_heads, to_string(k.shape())),
                     "as many as k has");
  return apply(attention_op, {q, k, v, checked_lengths("attention", q.size(0), k.size(2), options.lengths)},
               kernel_options("attention", options, q.shape(), k.size(2)));
}

}  // namespace halftone
