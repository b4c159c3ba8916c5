// SPDX-License-Identifier: Apache-2.0
//
// Attention (Vaswani et al. 2017): y = P v, P = softmax(q k^T factor) over the keys that a query sees.
// Several heads of q may share one of k and v (Ainslie et al. 2023). With m the largest score of a query,
//   e = exp(score - m),  y = (e v) / sum e,  P = e / sum e,
//   dv = P^T dy,  dP = dy v^T,  dS = P (dP - <P, dP>) factor,  dq = dS k,  dk = dS^T q.
// Dropout multiplies P by the mask D, 0 or 1 / (1 - probability), in y and dv, and dP in what follows from
// it. Scores and what is done to them stay in float32; e, P and dS are rounded once for their products. e and
// not P in the first: the largest is 1, so that no share is too small for a short format.
#include "op/attend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/precision.h"
#include "halftone/random.h"
#include "op/contraction.h"
#include "op/differentiate.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

// The format of scores.
DType wide(const Attended& x, const Tensor& y) {
  return is_wide(x.q) || is_wide(x.k) || is_wide(x.v) || is_wide(y) ? float64 : float32;
}

template <class Real>
Real base(Real peak) {  // anything finite for a query with no finite score
  return peak == -std::numeric_limits<Real>::infinity() ? Real(0) : peak;
}

// Whether dropout leaves element i of a row, given the row of the mask, which is empty without dropout.
template <class Real>
bool is_kept(std::span<const Real> mask, std::size_t i) {
  return mask.empty() || mask[i] != 0;
}

// in: scores, number of keys seen, mask of dropout or nothing; out: e, where kept, and statistics.
// parameters: factor.
constexpr RowFormula kExponentials = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto keys = static_cast<std::size_t>(r.in[1][0]);
  const Real factor = r.parameters[0];
  Real peak = -std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < keys; ++i) peak = std::max(peak, r.in[0][i] * factor);  // NaN is passed over
  double total = 0;
  for (std::size_t i = 0; i < r.out[0].size(); ++i) {
    const Real e = i < keys ? std::exp(r.in[0][i] * factor - base(peak)) : Real(0);
    total += double{e};
    r.out[0][i] = is_kept(r.in[2], i) ? e : Real(0);
  }
  r.out[1][0] = peak;
  r.out[1][1] = static_cast<Real>(total);
});

// in: e v, statistics; out: y. parameters: 1 / (1 - probability).
constexpr RowFormula kShares = row_formula([]<class Real>(const Rows<Real>& r) {
  const Real total = r.in[1][1];
  for (std::size_t i = 0; i < r.out[0].size(); ++i)
    r.out[0][i] = total == 0 ? Real(0) : r.in[0][i] * r.parameters[0] / total;
});

// in: scores, number of keys seen, statistics, gradient of the shares after dropout, mask of dropout or
// nothing; out: these shares, D P, and dS. parameters: factor, 1 / (1 - probability).
constexpr RowFormula kScoreGradients = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto keys = static_cast<std::size_t>(r.in[1][0]);
  const Real factor = r.parameters[0], scale = r.parameters[1], peak = r.in[2][0], total = r.in[2][1];
  const auto p = r.out[0], ds = r.out[1];
  const auto gradient = [&](std::size_t i) { return is_kept(r.in[4], i) ? r.in[3][i] * scale : Real(0); };
  double dot = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = i < keys && total != 0 ? std::exp(r.in[0][i] * factor - base(peak)) / total : Real(0);
    if (i < keys) dot += double{p[i]} * double{gradient(i)};
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    ds[i] = i < keys ? p[i] * (gradient(i) - static_cast<Real>(dot)) * factor : Real(0);
    p[i] = is_kept(r.in[4], i) ? p[i] * scale : Real(0);
  }
});

// How many keys query i sees: the last one sees as far as the last key.
std::int64_t keys_seen(const Attended& x, bool causal, std::int64_t batch, std::int64_t query) {
  const std::int64_t queries = x.q.size(2), keys = x.k.size(2);
  const std::int64_t sees = causal ? std::clamp<std::int64_t>(query + 1 + keys - queries, 0, keys) : keys;
  return x.lengths ? std::min<std::int64_t>(sees, x.lengths.data<std::int32_t>()[batch]) : sees;
}

// x (batch, heads, rows, width) with the heads of a group one under the other: (batch, groups, .., width).
Shape joined_shape(const Tensor& x, std::int64_t groups) {
  return {x.size(0), groups, x.size(1) / groups * x.size(2), x.size(3)};
}
Tensor joined(const Backend& backend, const Tensor& x, std::int64_t groups) {
  const Shape shape = joined_shape(x, groups);
  if (x.size(1) == groups) return x;
  return reshaped(copied(backend, x), shape);
}

// For the rows of joined(q): int32 (batch, groups, rows, 1).
Tensor visible_keys(const Attended& x, bool causal) {
  const std::int64_t queries = x.q.size(2);
  const Shape shape = joined_shape(x.q, x.k.size(1));
  Tensor visible({shape[0], 1, shape[2], 1}, int32);
  auto* count = visible.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < visible.count(); ++i)
    count[i] = static_cast<std::int32_t>(keys_seen(x, causal, i / shape[2], i % queries));
  return visible.view({shape[0], shape[1], shape[2], 1}, {shape[2], 0, 1, 1}, 0);
}

Tensor scores_of(const Backend& backend, const Tensor& q, const Tensor& k, DType dtype) {
  const Tensor scores({q.size(0), q.size(1), q.size(2), k.size(2)}, dtype);
  backend.matmul({.a = q, .b = transposed(k), .c = scores, .bias = {}});
  return scores;
}

// For scores of the shape (batch, groups, rows of joined(q), keys), in whose memory a head follows another:
// uint8, 0 where dropped. Undefined without dropout.
Tensor dropout_mask(const Shape& scores, const AttentionDropout& dropout) {
  if (dropout.probability == 0) return {};
  Tensor mask(scores, uint8);
  random_kept(dropout.seed, streams::dropout, dropout.first, dropout.probability,
              mask.mutable_data<std::uint8_t>(), mask.count());
  return mask;
}

// The operands of a formula, the last only if it is defined.
std::span<const Tensor> defined(std::span<const Tensor> in) {
  return in.back().defined() ? in : in.first(in.size() - 1);
}

}  // namespace

AttentionKernelOptions kernel_options(const char* op, const AttentionOptions& options, const Shape& q,
                                      std::int64_t keys) {
  const double p = options.dropout;
  if (!(p >= 0 && p < 1)) throw ValueError(op, fmt::format("dropout {}", p), "0 <= probability < 1");
  AttentionKernelOptions made{
      options.causal, options.factor != 0 ? options.factor : 1 / std::sqrt(static_cast<double>(q[3])), {}};
  if (!thread_state().training || p == 0) return made;
  made.dropout = {p, thread_state().seed, take_random(static_cast<std::uint64_t>(q[0] * q[1] * q[2] * keys))};
  return made;
}

Tensor attend(const Backend& backend, const Attended& x, const AttentionKernelOptions& options,
              const Tensor& y) {
  const DType real = wide(x, y);
  const Tensor statistics({y.size(0), y.size(1), y.size(2), 2}, real);
  const Kernel fused = real == float32 && y.count() > 0 ? backend.find("attention.forward") : nullptr;
  if (fused != nullptr) {
    const Tensor in[] = {x.q, x.k, x.v, x.lengths}, out[] = {y, statistics};
    fused({in, out, options});
    return statistics;
  }
  const std::int64_t groups = x.k.size(1);
  const Tensor scores = scores_of(backend, joined(backend, x.q, groups), x.k, real);
  const Tensor e(scores.shape(), y.dtype()), sums(y.shape(), real);
  const Shape joined_rows = joined_shape(y, groups);
  {
    const Tensor in[] = {scores, visible_keys(x, options.causal),
                         dropout_mask(scores.shape(), options.dropout)};
    const Tensor out[] = {e, reshaped(statistics, {joined_rows[0], groups, joined_rows[2], 2})};
    backend.rowwise(kExponentials, defined(in), out, std::span(&options.factor, 1));
  }
  backend.matmul({.a = e, .b = x.v, .c = reshaped(sums, joined_rows), .bias = {}});
  const Tensor in[] = {sums, statistics};
  const double scale = options.dropout.scale();
  backend.rowwise(kShares, in, std::span(&y, 1), std::span(&scale, 1));
  return statistics;
}

void attend_backward(const Backend& backend, const Attended& x, const AttentionKernelOptions& options,
                     const Tensor& y, const Tensor& statistics, const Tensor& dy,
                     const AttendedGradients& to) {
  const DType real = wide(x, y);
  const Kernel fused = real == float32 && y.count() > 0 ? backend.find("attention.backward") : nullptr;
  if (fused != nullptr) {
    const Tensor in[] = {x.q, x.k, x.v, x.lengths, y, statistics, dy}, out[] = {to.q, to.k, to.v};
    return fused({in, out, options});
  }
  const std::int64_t groups = x.k.size(1);
  const Tensor q = joined(backend, x.q, groups), gradient = joined(backend, dy, groups);
  const Tensor scores = scores_of(backend, q, x.k, real), dp = scores_of(backend, gradient, x.v, real);
  const Tensor p(scores.shape(), y.dtype()), ds(scores.shape(), y.dtype());
  {
    const Tensor in[] = {scores, visible_keys(x, options.causal),
                         reshaped(statistics, {q.size(0), groups, q.size(2), 2}), dp,
                         dropout_mask(scores.shape(), options.dropout)};
    const Tensor out[] = {p, ds};
    const double parameters[] = {options.factor, options.dropout.scale()};
    backend.rowwise(kScoreGradients, defined(in), out, parameters);
  }
  if (to.q) {
    const Tensor sums(to.q.shape(), real);
    backend.matmul({.a = ds, .b = x.k, .c = reshaped(sums, q.shape()), .bias = {}});
    backend.copy(sums, to.q);
  }
  if (to.k) backend.matmul({.a = transposed(ds), .b = q, .c = to.k, .bias = {}});
  if (to.v) backend.matmul({.a = transposed(p), .b = gradient, .c = to.v, .bias = {}});
}

AttendedGradients attend_differentiate(const Attended& x, const AttentionKernelOptions& options,
                                       const Tensor& dy, DType q_format, DType k_format, DType v_format) {
  const Shape shape = joined_shape(x.q, x.k.size(1));
  const DType real = wide(x, dy), narrow = dy.dtype();
  const Tensor q = reshape(x.q, shape), gradient = reshape(dy, shape);
  // What a query does not see is -infinity.
  Tensor seen({shape[0], 1, shape[2], x.k.size(2)}, uint8);
  auto* flag = seen.mutable_data<std::uint8_t>();
  for (std::int64_t row = 0; row < shape[0] * shape[2]; ++row) {
    const std::int64_t keys = keys_seen(x, options.causal, row / shape[2], row % shape[2] % x.q.size(2));
    for (std::int64_t key = 0; key < x.k.size(2); ++key) *flag++ = key < keys;
  }
  const Tensor scores = scale(product(q, exchanged(x.k), real), options.factor);
  const Tensor p = softmax(where(seen, scores, constant(-std::numeric_limits<double>::infinity(), scores)));
  const Tensor mask = dropout_mask(scores.shape(), options.dropout);
  const auto dropped = [&](const Tensor& y) {
    return mask ? scale(select(y, mask), options.dropout.scale()) : y;
  };
  const Tensor dp = dropped(product(gradient, exchanged(x.v), real));
  const Tensor ds = cast(scale(p * (dp - sum(p * dp, {-1}, true)), options.factor), narrow);
  return {reshape(product(ds, x.k, q_format), x.q.shape()), product(exchanged(ds), q, k_format),
          product(exchanged(cast(dropped(p), narrow)), gradient, v_format)};
}

Tensor checked_lengths(const char* op, std::int64_t batch, std::int64_t keys, const Tensor& lengths) {
  if (!lengths) return {};
  if (lengths.dtype() != int32)
    throw DTypeError(op, fmt::format("{} lengths", lengths.dtype().name()), "int32");
  if (lengths.shape() != Shape{batch})
    throw ShapeError(op, "lengths " + to_string(lengths.shape()), to_string(Shape{batch}));
  Tensor read = contiguous(*thread_state().backend, lengths);
  for (std::int64_t i = 0; i < batch; ++i)
    if (const auto length = read.data<std::int32_t>()[i]; length < 0 || length > keys)
      throw ValueError(op, fmt::format("length {} at position {}", length, i),
                       fmt::format("from 0 to {} keys", keys));
  return read;
}

Tensor copy_of_lengths(const Backend& backend, const Tensor& lengths) {
  const Tensor copy(lengths.shape(), int32);
  backend.copy(lengths, copy);
  return copy;
}

}  // namespace halftone
