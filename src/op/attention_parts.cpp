// SPDX-License-Identifier: Apache-2.0
#include "op/attention_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/kernel_options.h"
#include "op/contraction.h"
#include "op/softmax_rows.h"

namespace halftone {
namespace {

DType wide(const Tensor& q) { return q.dtype() == float64 ? float64 : float32; }

// in: scores, number of keys that the query sees; out: P. parameters: factor.
constexpr RowFormula kProbabilities = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto keys = static_cast<std::size_t>(r.in[1][0]);
  softmax_prefix(r.in[0], r.out[0], r.parameters[0], keys);
});

// (batch, heads, rows, width) as (batch, groups, heads / groups, rows, width).
Tensor grouped(const Tensor& x, std::int64_t groups) {
  const Shape &s = x.shape(), &t = x.strides();
  const std::int64_t members = s[1] / groups;
  return x.view({s[0], groups, members, s[2], s[3]}, {t[0], members * t[1], t[1], t[2], t[3]}, x.offset());
}

// k or v, once for every head of q that shares it.
Tensor shared(const Tensor& x, std::int64_t members) {
  const Shape &s = x.shape(), &t = x.strides();
  return x.view({s[0], s[1], members, s[2], s[3]}, {t[0], t[1], 0, t[2], t[3]}, x.offset());
}

AttentionOperands grouped(const AttentionOperands& x) {
  const std::int64_t groups = x.k.size(1), members = x.q.size(1) / groups;
  return {grouped(x.q, groups), shared(x.k, members), shared(x.v, members)};
}

// a b, summed over the heads that share a key, onto dx (batch, groups, keys, width).
void multiply_shared(const Backend& backend, const Tensor& a, const Tensor& b, const Tensor& dx) {
  const Shape &s = dx.shape(), &t = dx.strides();
  const Tensor sum = dx.view({s[0], s[1], 1, s[2], s[3]}, {t[0], t[1], 0, t[2], t[3]}, dx.offset());
  if (a.size(2) == 1) return backend.matmul({.a = a, .b = b, .c = sum, .bias = {}});
  const Tensor each({a.size(0), a.size(1), a.size(2), a.size(3), b.size(4)}, wide(a));
  backend.matmul({.a = a, .b = b, .c = each, .bias = {}});
  backend.reduce(Reduction::sum, each, sum);
}

Kernel find(const Backend& backend, std::string_view name, const Tensor& q) {
  return q.dtype() == float64 ? nullptr : backend.find(name);
}

}  // namespace

Tensor visible_keys(const AttentionOperands& x, const Tensor& lengths, bool causal) {
  const std::int64_t queries = x.q.size(2), keys = x.k.size(2);
  Tensor visible({x.q.size(0), queries}, int32);
  auto* count = visible.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < visible.count(); ++i) {
    std::int64_t sees = causal ? std::clamp<std::int64_t>(i % queries + 1 + keys - queries, 0, keys) : keys;
    if (lengths) sees = std::min<std::int64_t>(sees, lengths.data<std::int32_t>()[i / queries]);
    count[i] = static_cast<std::int32_t>(sees);
  }
  return visible;
}

Tensor empty_heads(const Shape& shape, DType dtype) {
  const Tensor memory({shape[0], shape[2], shape[1], shape[3]}, dtype);
  const Shape& t = memory.strides();
  return memory.view(shape, {t[0], t[2], t[1], t[3]}, 0);
}

std::vector<Tensor> attend(const Backend& backend, const AttentionOperands& x, const Tensor& visible,
                           double factor, const Tensor& y) {
  if (const Kernel fused = find(backend, "attention.forward", y)) {
    const Tensor log_total({x.q.size(0), x.q.size(1), x.q.size(2)}, float32);
    const Tensor in[] = {x.q, x.k, x.v, visible}, out[] = {y, log_total};
    fused({in, out, AttentionKernelOptions{factor, y.dtype()}});
    return {visible, log_total};
  }
  const auto [q, k, v] = grouped(x);
  const Tensor scores({q.size(0), q.size(1), q.size(2), q.size(3), k.size(3)}, wide(q)),
      p(scores.shape(), y.dtype());
  backend.matmul({.a = q, .b = transposed(k), .c = scores, .bias = {}});
  const Tensor in[] = {
      scores, visible.view({q.size(0), q.size(1), q.size(2), q.size(3), 1}, {q.size(3), 0, 0, 1, 1}, 0)};
  backend.rowwise(kProbabilities, in, std::span(&p, 1), std::span(&factor, 1));
  backend.matmul({.a = p, .b = v, .c = grouped(y, x.k.size(1)), .bias = {}});
  return {visible, p};
}

void attend_backward(const Backend& backend, const AttentionOperands& x, std::span<const Tensor> saved,
                     double factor, const Tensor& y, const Tensor& dy, const AttentionOperands& gradients) {
  if (const Kernel fused = find(backend, "attention.backward", y)) {
    const Tensor in[] = {x.q, x.k, x.v, saved[0], y, saved[1], dy},
                 out[] = {gradients.q, gradients.k, gradients.v};
    return fused({in, out, AttentionKernelOptions{factor, y.dtype()}});
  }
  const auto [q, k, v] = grouped(x);
  const Tensor &p = saved[1], dy_heads = grouped(dy, x.k.size(1));
  if (gradients.v) multiply_shared(backend, transposed(p), dy_heads, gradients.v);
  const Tensor dp(p.shape(), wide(q)), ds(p.shape(), p.dtype());
  backend.matmul({.a = dy_heads, .b = transposed(v), .c = dp, .bias = {}});
  const Tensor in[] = {p, dp};
  backend.rowwise(kSoftmaxGradient, in, std::span(&ds, 1), std::span(&factor, 1));
  if (gradients.q) backend.matmul({.a = ds, .b = k, .c = grouped(gradients.q, x.k.size(1)), .bias = {}});
  if (gradients.k) multiply_shared(backend, transposed(ds), q, gradients.k);
}

void check_lengths(std::string_view op, std::int64_t batch, std::int64_t keys, const Tensor& lengths) {
  if (!lengths) return;
  if (lengths.dtype() != int32)
    throw DTypeError(op, fmt::format("{} lengths", lengths.dtype().name()), "int32");
  if (lengths.shape() != Shape{batch} || !lengths.is_contiguous())
    throw ShapeError(op, "lengths " + to_string(lengths.shape()), to_string(Shape{batch}));
  for (std::int64_t i = 0; i < batch; ++i)
    if (const auto length = lengths.data<std::int32_t>()[i]; length < 0 || length > keys)
      throw ValueError(op, fmt::format("length {} at position {}", length, i),
                       fmt::format("from 0 to {} keys", keys));
}

}  // namespace halftone
