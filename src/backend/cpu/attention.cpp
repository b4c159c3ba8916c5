// SPDX-License-Identifier: Apache-2.0
//
// Attention in tiles that stay in the cache (Dao et al. 2022): scores of 128 queries against up to 512 keys
// are formed by a matrix product, turned into probabilities and used by the next product at once, so memory
// grows with the context and not with its square. Tiles that no query sees are left out. A query that sees
// keys in several tiles carries its largest score and the sum of its exponentials along, in float32; backward
// forms the probabilities again from their logarithms. Every sum over tiles is float32, in an order that
// depends on the problem only; forward takes (batch, head, tile of queries) as its tasks, backward (batch,
// key head).
#include <algorithm>
#include <any>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "backend/cpu/attention_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/tile_product.h"
#include "backend/kernel_options.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

constexpr std::int64_t kQueries = 64, kKeys = 512, kStep = 64;

std::int64_t rounded_up(std::int64_t x, std::int64_t step) { return chunk_count(x, step) * step; }

// (batch, heads, rows, width) in memory; rows whose elements are neighbours.
class Heads {
 public:
  Heads(const Tensor& x, DType format)
      : x_(prepared(x, format)), data_(static_cast<const std::byte*>(x_.raw())) {}

  const void* at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return advance(data_, x_.dtype(),
                   batch * x_.strides()[0] + head * x_.strides()[1] + row * x_.strides()[2]);
  }
  std::int64_t stride() const { return x_.size(2) == 1 ? x_.size(3) : x_.strides()[2]; }
  DType dtype() const { return x_.dtype(); }

 private:
  static Tensor prepared(const Tensor& x, DType format) {
    const bool plain =
        (x.strides()[3] == 1 || x.size(3) == 1) && (x.size(2) == 1 || x.strides()[2] >= x.size(3));
    if (x.dtype() == format && plain) return x;
    const Tensor copy(x.shape(), format);
    find_backend("cpu").copy(x, copy);
    return copy;
  }
  Tensor x_;
  const std::byte* data_;
};

// A result; an undefined one is not wanted.
class Result {
 public:
  explicit Result(const Tensor& x) : x_(x), data_(x ? static_cast<std::byte*>(x.raw_mutable()) : nullptr) {}
  bool wanted() const { return x_.defined(); }
  void write(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t rows,
             const float* from) const {
    const Shape& t = x_.strides();
    store_rows(from, rows, x_.size(3), x_.dtype(),
               advance(data_, x_.dtype(), batch * t[0] + head * t[1] + row * t[2]), t[2]);
  }

 private:
  Tensor x_;
  std::byte* data_;
};

// What forward and backward have in common.
struct Problem {
  DType format, rounded;
  float factor;
  std::int64_t batch, heads, groups, queries, keys, width;
  Heads q, k, v;
  const std::int32_t* visible;

  Problem(const KernelCall& call, DType format)
      : format(format),
        rounded(std::any_cast<const AttentionKernelOptions&>(call.options).rounded),
        factor(static_cast<float>(std::any_cast<const AttentionKernelOptions&>(call.options).factor)),
        batch(call.in[0].size(0)),
        heads(call.in[0].size(1)),
        groups(call.in[1].size(1)),
        queries(call.in[0].size(2)),
        keys(call.in[1].size(2)),
        width(call.in[0].size(3)),
        q(call.in[0], format),
        k(call.in[1], format),
        v(call.in[2], format),
        visible(call.in[3].data<std::int32_t>()) {}

  std::int64_t key_tile() const { return std::min(rounded_up(std::max<std::int64_t>(keys, 1), 16), kKeys); }
  // Keys that some of these queries see.
  std::int64_t reach(std::int64_t b, std::int64_t query, std::int64_t rows) const {
    const std::int32_t* first = visible + b * queries + query;
    const std::int64_t seen = *std::max_element(first, first + rows);
    return std::min(rounded_up(seen, kStep), keys);
  }
  ScoreTile tile(float* scores, std::int64_t b, std::int64_t query, std::int64_t rows, std::int64_t key,
                 std::int64_t columns) const {
    return {scores, rows, columns, rounded_up(columns, 16), visible + b * queries + query, key, factor};
  }

  // c (rows, columns; lines of c_row) = a b (+ c).
  void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, const void* a,
                MatrixStrides a_strides, const void* b, MatrixStrides b_strides, float* c, std::int64_t c_row,
                bool accumulate = false) const {
    const auto product = tile_product({.format = format,
                                       .result = float32,
                                       .rows = rows,
                                       .columns = columns,
                                       .inner = inner,
                                       .a = plain(a_strides, rows, inner),
                                       .b = plain(b_strides, inner, columns),
                                       .c_row = c_row,
                                       .accumulate = accumulate});
    execute(*product, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
  }

 private:
  // The stride between lines of one element, or of a single line, means nothing, but oneDNN checks it.
  static MatrixStrides plain(MatrixStrides s, std::int64_t rows, std::int64_t columns) {
    if (s.column == 1) return {std::max(s.row, columns), 1};
    return {1, std::max(s.column, rows)};
  }
};

DType common_format(const KernelCall& call, std::initializer_list<int> operands) {
  DType format = std::any_cast<const AttentionKernelOptions&>(call.options).rounded;
  for (const int i : operands) format = product_format(format, call.in[static_cast<std::size_t>(i)].dtype());
  return format;
}

// Floats, and codes of the format, for the tiles of one task.
struct Workspace {
  explicit Workspace(std::int64_t bytes)
      : memory({bytes}, uint8), next(static_cast<std::byte*>(memory.raw_mutable())) {}
  template <class T = float>
  T* take(std::int64_t count, std::int64_t bytes = sizeof(T)) {
    return reinterpret_cast<T*>(std::exchange(next, next + rounded_up(count * bytes, 64)));
  }
  Tensor memory;
  std::byte* next;
};

void forward_task(const Problem& p, const Result& y, float* log_total, std::int64_t task) {
  const std::int64_t blocks = chunk_count(p.queries, kQueries);
  const std::int64_t b = task / (p.heads * blocks), head = task / blocks % p.heads,
                     query = task % blocks * kQueries, group = head / (p.heads / p.groups);
  const std::int64_t rows = std::min(kQueries, p.queries - query), most = p.key_tile();
  Workspace space(kQueries * (most * 8 + p.width * 4) + 4 * rounded_up(kQueries, 16) * 4);
  float* scores = space.take(rows * most);
  auto* probabilities = space.take<std::byte>(rows * most, 4);
  float *sum = space.take(rows * p.width), *peak = space.take(rows), *total = space.take(rows),
        *correction = space.take(rows);
  std::fill_n(peak, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(total, rows, 0.0f);

  const std::int64_t reach = p.reach(b, query, rows);
  if (reach == 0) std::fill_n(sum, rows * p.width, 0.0f);
  for (std::int64_t key = 0; key < reach; key += kKeys) {
    const std::int64_t columns = std::min(kKeys, reach - key);
    const ScoreTile tile = p.tile(scores, b, query, rows, key, columns);
    p.multiply(rows, columns, p.width, p.q.at(b, head, query), {p.q.stride(), 1}, p.k.at(b, group, key),
               {1, p.k.stride()}, scores, tile.stride);
    softmax_tile(tile, {peak, total, correction}, p.format, p.rounded, probabilities);
    if (key > 0) scale_rows(sum, rows, p.width, correction);
    p.multiply(rows, p.width, columns, probabilities, {tile.stride, 1}, p.v.at(b, group, key),
               {p.v.stride(), 1}, sum, p.width, key > 0);
  }
  float* logs = log_total + (b * p.heads + head) * p.queries + query;
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool sees = total[row] != 0;  // true for NaN
    logs[row] = sees ? peak[row] + std::log(total[row]) : std::numeric_limits<float>::infinity();
    correction[row] = sees ? 1 / total[row] : 0;
  }
  scale_rows(sum, rows, p.width, correction);
  y.write(b, head, query, rows, sum);
}

struct Gradients {
  Heads y, dy;
  const float* log_total;
  Result dq, dk, dv;
};

void backward_task(const Problem& p, const Gradients& g, std::int64_t task) {
  const std::int64_t b = task / p.groups, group = task % p.groups, members = p.heads / p.groups;
  const std::int64_t most = p.key_tile(), w = p.width;
  Workspace space(kQueries * (most * 16 + w * 8) + (2 * p.keys + p.queries) * w * 4 +
                  rounded_up(p.queries, 16) * 4 + 1024);
  float *scores = space.take(kQueries * most), *dp = space.take(kQueries * most);
  auto *probabilities = space.take<std::byte>(kQueries * most, 4),
       *ds = space.take<std::byte>(kQueries * most, 4);
  float *left = space.take(kQueries * w), *right = space.take(kQueries * w);
  float *dk = space.take(p.keys * w), *dv = space.take(p.keys * w), *dq = space.take(p.queries * w),
        *dots = space.take(p.queries);
  std::fill_n(dk, p.keys * w, 0.0f);
  std::fill_n(dv, p.keys * w, 0.0f);
  for (std::int64_t head = group * members; head < (group + 1) * members; ++head) {
    std::fill_n(dq, p.queries * w, 0.0f);
    const float* logs = g.log_total + (b * p.heads + head) * p.queries;
    for (std::int64_t query = 0; query < p.queries; query += kQueries) {
      const std::int64_t rows = std::min(kQueries, p.queries - query);
      load_rows(g.y.dtype(), g.y.at(b, head, query), g.y.stride(), rows, w, left);
      load_rows(g.dy.dtype(), g.dy.at(b, head, query), g.dy.stride(), rows, w, right);
      dot_rows(left, right, rows, w, dots + query);
      const std::int64_t reach = p.reach(b, query, rows);
      for (std::int64_t key = 0; key < reach; key += kKeys) {
        const std::int64_t columns = std::min(kKeys, reach - key);
        const ScoreTile tile = p.tile(scores, b, query, rows, key, columns);
        const MatrixStrides row_major{tile.stride, 1}, transposed{1, tile.stride};
        const void *q = p.q.at(b, head, query), *k = p.k.at(b, group, key), *v = p.v.at(b, group, key),
                   *dy = g.dy.at(b, head, query);
        p.multiply(rows, columns, w, q, {p.q.stride(), 1}, k, {1, p.k.stride()}, scores, tile.stride);
        p.multiply(rows, columns, w, dy, {g.dy.stride(), 1}, v, {1, p.v.stride()}, dp, tile.stride);
        softmax_gradient_tile(tile, dp, logs + query, dots + query, p.format, p.rounded, probabilities, ds);
        if (g.dv.wanted())
          p.multiply(columns, w, rows, probabilities, transposed, dy, {g.dy.stride(), 1}, dv + key * w, w,
                     true);
        if (g.dk.wanted())
          p.multiply(columns, w, rows, ds, transposed, q, {p.q.stride(), 1}, dk + key * w, w, true);
        if (g.dq.wanted())
          p.multiply(rows, w, columns, ds, row_major, k, {p.k.stride(), 1}, dq + query * w, w, true);
      }
    }
    if (g.dq.wanted()) g.dq.write(b, head, 0, p.queries, dq);
  }
  if (g.dk.wanted()) g.dk.write(b, group, 0, p.keys, dk);
  if (g.dv.wanted()) g.dv.write(b, group, 0, p.keys, dv);
}

// Tasks that one thread takes at a time: below some millions of operations a second one costs more than it
// brings.
std::int64_t together(std::int64_t operations) {
  return std::max<std::int64_t>(1, 8'000'000 / std::max<std::int64_t>(operations, 1));
}

}  // namespace

void attention_forward(const KernelCall& call) {
  const Problem p(call, common_format(call, {0, 1, 2}));
  const Result y(call.out[0]);
  Tensor log_total = call.out[1];
  auto* logs = log_total.mutable_data<float>();
  const std::int64_t blocks = chunk_count(p.queries, kQueries);
  parallel_for(p.batch * p.heads * blocks, together(4 * std::min(kQueries, p.queries) * p.keys * p.width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) forward_task(p, y, logs, task);
               });
}

void attention_backward(const KernelCall& call) {
  const DType format = common_format(call, {0, 1, 2, 6});
  const Problem p(call, format);
  const Gradients g{Heads(call.in[4], call.in[4].dtype()),
                    Heads(call.in[6], format),
                    call.in[5].data<float>(),
                    Result(call.out[0]),
                    Result(call.out[1]),
                    Result(call.out[2])};
  parallel_for(p.batch * p.groups, together(10 * p.queries * p.keys * p.width * (p.heads / p.groups)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) backward_task(p, g, task);
               });
}

}  // namespace halftone::cpu
