// SPDX-License-Identifier: Apache-2.0
//
// attention (Vaswani et al. 2017): y = P v, P = softmax(q k^T factor) over the keys that a query sees. Scores
// and their softmax stay in float32; P is rounded once for the second product. Several heads of q may share
// one of k and v (Ainslie et al. 2023).
//   dv = P^T dy,  dP = dy v^T,  dS = P (dP - <P, dP>) factor,  dq = dS k,  dk = dS^T q.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/contraction.h"
#include "op/differentiate.h"
#include "op/softmax_rows.h"

namespace halftone {
namespace {

struct Options {
  bool causal;
  double factor;
};

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

// How many keys each query sees, int32 (batch, queries): the last query sees as far as the last key.
Tensor visible_keys(const Tensor& q, const Tensor& k, const Tensor& lengths, bool causal) {
  const std::int64_t queries = q.size(2), keys = k.size(2);
  Tensor visible({q.size(0), queries}, int32);
  auto* count = visible.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < visible.count(); ++i) {
    std::int64_t sees = causal ? std::clamp<std::int64_t>(i % queries + 1 + keys - queries, 0, keys) : keys;
    if (lengths) sees = std::min<std::int64_t>(sees, lengths.data<std::int32_t>()[i / queries]);
    count[i] = static_cast<std::int32_t>(sees);
  }
  return visible;
}

// The sum over the heads that share a key: (batch, groups, members, keys, width) onto (batch, groups, ..).
void deliver_shared(BackwardCall& call, int input, const Tensor& a, const Tensor& b) {
  const Shape& shape = call.shapes[static_cast<std::size_t>(input)];
  if (a.size(2) == 1) {
    const auto flat = [](const Tensor& x) {
      const Shape &s = x.shape(), &t = x.strides();
      return x.view({s[0], s[1], s[3], s[4]}, {t[0], t[1], t[3], t[4]}, x.offset());
    };
    return deliver_product(call, input, flat(a), flat(b));
  }
  const Tensor each({a.size(0), a.size(1), a.size(2), a.size(3), b.size(4)}, wide(call.inputs[0]));
  call.backend.matmul({.a = a, .b = b, .c = each, .bias = {}});
  Tensor sum(shape, call.gradients.dtype(input));
  const Shape kept{shape[0], shape[1], 1, shape[2], shape[3]};
  call.backend.reduce(Reduction::sum, each, sum.view(kept, contiguous_strides(kept), 0));
  call.gradients.deliver(input, std::move(sum));
}

const Op attention_op{
    .name = "attention",
    .cast = CastPolicy::compute,
    .operands = 3,
    .keeps = {Operand::x0, Operand::x1, Operand::x2},
    .forward =
        [](Call& call) {
          const Options& options = call.as<Options>();
          const std::int64_t groups = call.inputs[1].size(1), members = call.inputs[0].size(1) / groups;
          const Tensor q = grouped(call.inputs[0], groups), k = shared(call.inputs[1], members),
                       v = shared(call.inputs[2], members);
          const Tensor scores({q.size(0), groups, members, q.size(3), k.size(3)}, wide(q)),
              p(scores.shape(), call.result);
          call.backend.matmul({.a = q, .b = transposed(k), .c = scores, .bias = {}});
          const Tensor visible = visible_keys(call.inputs[0], call.inputs[1], call.inputs[3], options.causal);
          const Tensor in[] = {
              scores, visible.view({q.size(0), groups, members, q.size(3), 1}, {q.size(3), 0, 0, 1, 1}, 0)};
          call.backend.rowwise(kProbabilities, in, std::span(&p, 1), std::span(&options.factor, 1));
          Tensor y(call.inputs[0].shape(), call.result);
          call.backend.matmul({.a = p, .b = v, .c = grouped(y, groups), .bias = {}});
          call.saved = {p};
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor& p = call.saved[0];
          const std::int64_t groups = p.size(1), members = p.size(2);
          const Tensor q = grouped(call.inputs[0], groups), k = shared(call.inputs[1], members),
                       v = shared(call.inputs[2], members), dy = grouped(call.gradient, groups);
          if (call.gradients.wanted(2)) deliver_shared(call, 2, transposed(p), dy);
          const Tensor dp(p.shape(), wide(q)), ds(p.shape(), p.dtype());
          call.backend.matmul({.a = dy, .b = transposed(v), .c = dp, .bias = {}});
          const Tensor in[] = {p, dp};
          call.backend.rowwise(kSoftmaxGradient, in, std::span(&ds, 1),
                               std::span(&call.as<Options>().factor, 1));
          if (call.gradients.wanted(0)) {
            const Tensor dq(call.shapes[0], call.gradients.dtype(0));
            call.backend.matmul({.a = ds, .b = k, .c = grouped(dq, groups), .bias = {}});
            call.gradients.deliver(0, dq);
          }
          if (call.gradients.wanted(1)) deliver_shared(call, 1, transposed(ds), q);
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 2, 5, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}, Options{true, 0.5}},
              {{{{2, 4, 3, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}, Options{true, 0.5}},
              {{{{3, 2, 5, 4}}, {{3, 1, 6, 4}}, {{3, 1, 6, 4}}, {{3}, 0, 7, int32, false}},
               Options{false, 0.5}}};
        },
};
const Register registered(attention_op);

void check_lengths(const Tensor& q, const Tensor& k, const Tensor& lengths) {
  if (lengths.dtype() != int32)
    throw DTypeError("attention", fmt::format("{} lengths", lengths.dtype().name()), "int32");
  if (lengths.shape() != Shape{q.size(0)} || !lengths.is_contiguous())
    throw ShapeError("attention", "lengths " + to_string(lengths.shape()), to_string(Shape{q.size(0)}));
  for (std::int64_t i = 0; i < lengths.count(); ++i)
    if (const auto length = lengths.data<std::int32_t>()[i]; length < 0 || length > k.size(2))
      throw ValueError("attention", fmt::format("length {} at position {}", length, i),
                       fmt::format("from 0 to {} keys", k.size(2)));
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const bool fits = q.rank() == 4 && k.rank() == 4 && v.shape() == k.shape() && q.size(0) == k.size(0) &&
                    k.size(1) > 0 && q.size(1) % k.size(1) == 0 && q.size(3) == k.size(3);
  if (!fits)
    throw ShapeError("attention",
                     to_string(q.shape()) + ", " + to_string(k.shape()) + ", " + to_string(v.shape()),
                     "q (batch, heads, queries, head_width), k and v of one shape (batch, kv_heads, keys, "
                     "head_width), heads a multiple of kv_heads");
  if (options.lengths) check_lengths(q, k, options.lengths);
  const double factor = options.factor != 0 ? options.factor : 1 / std::sqrt(static_cast<double>(q.size(-1)));
  return apply(attention_op, {q, k, v, options.lengths}, Options{options.causal, factor});
}

}  // namespace halftone
