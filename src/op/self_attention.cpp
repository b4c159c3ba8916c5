// SPDX-License-Identifier: Apache-2.0
//
// self_attention: attention whose queries, keys and values are columns of one tensor, read there; the
// gradient of that tensor is written where it belongs, too. The definition is in attend.cpp.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/attend.h"

namespace halftone {
namespace {

struct Options {
  std::int64_t heads, groups;
  AttentionKernelOptions kernel;
};

// Columns of x (batch, context, ..) from the head `first` on, as (batch, heads, context, width).
Tensor heads_of(const Tensor& x, std::int64_t first, std::int64_t heads, std::int64_t width) {
  const Shape& s = x.strides();
  return x.view({x.size(0), heads, x.size(1), width}, {s[0], width * s[2], s[1], s[2]},
                x.offset() + first * width * s[2]);
}

std::int64_t head_width(const Shape& qkv, const Options& o) { return qkv[2] / (o.heads + 2 * o.groups); }

AttendedGradients parts(const Tensor& qkv, const Options& o) {
  const std::int64_t width = head_width(qkv.shape(), o);
  return {heads_of(qkv, 0, o.heads, width), heads_of(qkv, o.heads, o.groups, width),
          heads_of(qkv, o.heads + o.groups, o.groups, width)};
}

Attended attended(const Tensor& qkv, const Tensor& lengths, const Options& o) {
  const AttendedGradients p = parts(qkv, o);
  return {p.q, p.k, p.v, lengths};
}

Tensor saved_lengths(std::span<const Tensor> saved) { return saved.size() > 1 ? saved[1] : Tensor(); }

const Op self_attention_op{
    .name = "self_attention",
    .cast = CastPolicy::compute,
    .operands = 1,
    .keeps = {Operand::x0, Operand::y},
    .forward =
        [](Call& call) {
          const auto& o = call.as<Options>();
          const Tensor& qkv = call.inputs[0];
          const Tensor lengths = call.inputs.size() > 1 ? call.inputs[1] : Tensor();
          const std::int64_t width = head_width(qkv.shape(), o);
          Tensor y({qkv.size(0), qkv.size(1), o.heads * width}, call.result);
          call.saved = {
              attend(call.backend, attended(qkv, lengths, o), o.kernel, heads_of(y, 0, o.heads, width))};
          if (lengths) call.saved.push_back(copy_of_lengths(call.backend, lengths));
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const auto& o = call.as<Options>();
          const Tensor& qkv = call.inputs[0];
          const std::int64_t width = head_width(qkv.shape(), o);
          Tensor gradient(qkv.shape(), call.gradients.dtype(0));
          attend_backward(call.backend, attended(qkv, saved_lengths(call.saved), o), o.kernel,
                          heads_of(call.output, 0, o.heads, width), call.saved[0],
                          heads_of(call.gradient, 0, o.heads, width), parts(gradient, o));
          call.gradients.deliver(0, std::move(gradient));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 5, 24}}}, Options{2, 2, {true, 0.5}}},
              {{{{2, 5, 32}}}, Options{4, 2, {true, 0.5}}},
              {{{{3, 6, 24}}, {{3}, 0, 7, int32, false}}, Options{2, 2, {false, 0.5}}},
              {{{{2, 5, 32}}}, Options{4, 2, {true, 0.5, {.probability = 0.4, .seed = 3, .first = 1}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const auto& o = call.as<Options>();
          const Tensor& qkv = call.inputs[0];
          const std::int64_t batch = qkv.size(0), context = qkv.size(1), width = head_width(qkv.shape(), o);
          const auto split = [&](const Tensor& x, std::int64_t first, std::int64_t heads) {
            const Tensor columns = slice(x, 2, first * width, (first + heads) * width);
            return transpose(reshape(columns, {batch, context, heads, width}), 1, 2);
          };
          const auto joined = [&](const Tensor& x) {
            return reshape(transpose(x, 1, 2), {batch, context, x.size(1) * width});
          };
          const Attended x{split(qkv, 0, o.heads), split(qkv, o.heads, o.groups),
                           split(qkv, o.heads + o.groups, o.groups), saved_lengths(call.saved)};
          const DType format = call.gradients.dtype(0);
          const AttendedGradients d =
              attend_differentiate(x, o.kernel, split(call.gradient, 0, o.heads), format, format, format);
          return std::vector{concat({joined(d.q), joined(d.k), joined(d.v)}, 2)};
        },
};
const Register registered(self_attention_op);

}  // namespace

Tensor self_attention(const Tensor& qkv, int heads, const AttentionOptions& options) {
  const int groups = options.kv_heads == 0 ? heads : options.kv_heads;
  if (qkv.rank() != 3 || heads < 1 || groups < 1 || heads % groups != 0 ||
      qkv.size(2) % (heads + 2 * groups) != 0)
    throw ShapeError("self_attention",
                     fmt::format("{} with {} heads and {} kv_heads", to_string(qkv.shape()), heads, groups),
                     "(batch, context, (heads + 2 kv_heads) head_width), heads a multiple of kv_heads");
  const Shape q{qkv.size(0), heads, qkv.size(1), qkv.size(2) / (heads + 2 * groups)};
  return apply(self_attention_op,
               {qkv, checked_lengths("self_attention", qkv.size(0), qkv.size(1), options.lengths)},
               Options{heads, groups, kernel_options("self_attention", options, q, qkv.size(1))});
}

}  // namespace halftone
