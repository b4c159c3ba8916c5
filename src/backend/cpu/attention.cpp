// SPDX-License-Identifier: Apache-2.0
//
// Attention in tiles that stay in the second-level cache, so that memory grows with the context and not with
// its square (Rabe and Staats 2021; Dao et al. 2022): kRows queries at a time meet kKeys keys at a time.
// Forward keeps the largest score and the sum of exponentials of each query (Milakov and Gimelshein 2018) and
// rounds exponentials once, to the format of the products; backward computes them again from those two.
// Results and gradients are summed in float32 and rounded once. Tiles that no query sees are skipped.
#include <algorithm>
#include <any>
#include <array>
#include <type_traits>

#include "backend/cpu/attention_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/tile_product.h"
#include "backend/kernel_options.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::cpu {
namespace {

constexpr std::int64_t kRows = 128, kKeys = 512;
// Tiles end at multiples of this, so that a few sizes serve every mask: each is a primitive of its own.
constexpr std::int64_t kStep = 64;

// A tensor (batch, heads, rows, width) in memory; rows are runs.
struct Heads {
  Tensor tensor;
  std::byte* data = nullptr;
  DType dtype = float32;
  std::int64_t batch = 0, head = 0, row = 0;  // strides

  std::byte* at(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + (b * batch + h * head + r * row) * dtype.bytes();
  }
  TileOperand tile(std::int64_t b, std::int64_t h, std::int64_t r) const { return {at(b, h, r), row, 1}; }
};

bool rows_are_runs(const Tensor& x) {
  const Shape& strides = x.strides();
  return (x.size(3) == 1 || strides[3] == 1) && (x.size(2) == 1 || strides[2] >= x.size(3));
}

Heads heads_of(const Tensor& x, void* data) {
  const Shape& strides = x.strides();
  return {x,          static_cast<std::byte*>(data),          x.dtype(), strides[0],
          strides[1], x.size(2) == 1 ? x.size(3) : strides[2]};
}

Heads operand(const Tensor& x, DType format) {
  Tensor y = decoded(x, format);
  if (!rows_are_runs(y)) y = contiguous(y);
  return heads_of(y, const_cast<void*>(y.raw()));
}

// Where a result is written: in place, or in a float32 copy to be rounded at the end.
struct Result {
  Heads heads;
  Tensor target;

  explicit Result(const Tensor& x) : target(x) {
    if (!x.defined()) return;
    const bool direct = (x.dtype() == bfloat16 || x.dtype() == float32) && rows_are_runs(x);
    const Tensor y = direct ? x : Tensor(x.shape(), float32);
    heads = heads_of(y, y.raw_mutable());
  }
  bool wanted() const { return target.defined(); }
  void finish() const {
    if (wanted() && heads.tensor.raw() != target.raw()) find_backend("cpu").copy(heads.tensor, target);
  }
  // Rows of float32 sums, divided by `divisors` if there are any, rounded.
  void write(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t rows, const float* from,
             const float* divisors) const {
    with_lane(heads.dtype == bfloat16, [&](auto lane) {
      using Lane = decltype(lane);
      at_simd_level<Rounded<Lane>>(rows, target.size(3), from, divisors,
                                   reinterpret_cast<typename Lane::Code*>(heads.at(b, h, row)), heads.row);
    });
  }
};

// The format of the products: bfloat16 if that holds the operands and the result has no more digits.
DType format_of(const Tensor& q, const Tensor& k, const Tensor& v, DType result) {
  const bool narrow =
      product_format(q.dtype(), k.dtype()) == bfloat16 && product_format(v.dtype(), result) == bfloat16;
  return narrow ? bfloat16 : float32;
}

// What both directions share.
struct Problem {
  DType format;
  Heads q, k, v;
  const std::int32_t* lengths;
  float factor;
  bool causal;
  AttentionDropout dropout;
  std::int64_t batch, heads, groups, queries, keys, width;

  Problem(const KernelCall& call, DType result)
      : format(format_of(call.in[0], call.in[1], call.in[2], result)),
        q(operand(call.in[0], format)),
        k(operand(call.in[1], format)),
        v(operand(call.in[2], format)),
        lengths(call.in[3].defined() ? call.in[3].data<std::int32_t>() : nullptr),
        batch(call.in[0].size(0)),
        heads(call.in[0].size(1)),
        groups(call.in[1].size(1)),
        queries(call.in[0].size(2)),
        keys(call.in[1].size(2)),
        width(call.in[0].size(3)) {
    const auto& options = std::any_cast<const AttentionKernelOptions&>(call.options);
    factor = static_cast<float>(options.factor);
    causal = options.causal;
    dropout = options.dropout;
  }
  bool drops() const { return dropout.probability != 0; }

  std::int64_t sees(std::int64_t b, std::int64_t query) const {
    const std::int64_t all = causal ? std::clamp<std::int64_t>(query + 1 + keys - queries, 0, keys) : keys;
    return lengths ? std::min<std::int64_t>(all, lengths[b]) : all;
  }

  void product(std::int64_t rows, std::int64_t columns, std::int64_t inner, const TileOperand& a,
               const TileOperand& b, float* c, std::int64_t stride, bool accumulate) const {
    tile_product(format, rows, columns, inner, a, b, c, stride, accumulate);
  }

  // body(first key, keys, keys seen by each query from the first on) for every tile of keys of which one of
  // the queries [row, row + rows) sees some.
  template <class Body>
  void tiles(std::int64_t b, std::int64_t row, std::int64_t rows, const Body& body) const {
    const std::int64_t end = sees(b, row + rows - 1);
    std::array<std::int32_t, kRows> visible;
    for (std::int64_t key = 0; key < end; key += kKeys) {
      const std::int64_t columns = std::min({kKeys, keys - key, (end - key + kStep - 1) / kStep * kStep});
      for (std::int64_t i = 0; i < rows; ++i)
        visible[static_cast<std::size_t>(i)] =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(sees(b, row + i) - key, 0, columns));
      body(key, columns, visible.data());
    }
  }
};

// Memory of one task, from the allocator.
template <class T>
struct Buffer {
  Tensor tensor;
  T* data;
  explicit Buffer(std::int64_t count)
      : tensor({count * static_cast<std::int64_t>(sizeof(T)) / 4}, float32),
        data(static_cast<T*>(tensor.raw_mutable())) {}
};

// The mask of dropout of a tile; empty without dropout.
class DropoutMask {
 public:
  explicit DropoutMask(const Problem& p) : problem_(p), kept_(p.drops() ? kRows * kKeys : 0) {}

  // The tile of head (b, h) whose first query is `row` and whose first key is `key`, with its mask.
  ScoreTile of(ScoreTile tile, std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) const {
    const Problem& p = problem_;
    if (!p.drops()) return tile;
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      const std::int64_t index = ((b * p.heads + h) * p.queries + row + i) * p.keys + key;
      random_kept(p.dropout.seed, streams::dropout, p.dropout.first + static_cast<std::uint64_t>(index),
                  p.dropout.probability, kept_.data + i * tile.stride, tile.visible[i]);
    }
    tile.kept = kept_.data;
    tile.scale = static_cast<float>(p.dropout.scale());
    return tile;
  }

 private:
  const Problem& problem_;
  Buffer<std::uint8_t> kept_;
};

template <class Lane, bool kDropout>
void forward_rows(const Problem& p, const Result& y, float* statistics, std::int64_t b, std::int64_t h,
                  std::int64_t row) {
  using Code = typename Lane::Code;
  const std::int64_t rows = std::min(kRows, p.queries - row), group = h / (p.heads / p.groups);
  const Buffer<float> scores(kRows * kKeys), sum(kRows * p.width);
  const Buffer<Code> codes(kRows * kKeys);
  const DropoutMask mask(p);
  std::array<float, kRows> peaks, totals{}, decays;
  peaks.fill(ScoreTile::kNothing);
  bool begun = false;
  p.tiles(b, row, rows, [&](std::int64_t key, std::int64_t columns, const std::int32_t* visible) {
    p.product(rows, columns, p.width, p.q.tile(b, h, row), p.k.tile(b, group, key).transposed(), scores.data,
              kKeys, false);
    const ScoreTile tile = mask.of({rows, columns, kKeys, scores.data, visible, p.factor}, b, h, row, key);
    at_simd_level<Exponentials<Lane, kDropout>, const ScoreTile&>(tile, codes.data, peaks.data(),
                                                                  totals.data(), decays.data());
    if (begun) at_simd_level<Decay>(rows, p.width, sum.data, static_cast<const float*>(decays.data()));
    p.product(rows, p.width, columns, {codes.data, kKeys, 1}, p.v.tile(b, group, key), sum.data, p.width,
              begun);
    begun = true;
  });
  if (!begun) std::fill_n(sum.data, rows * p.width, 0.0f);
  float* to = statistics + ((b * p.heads + h) * p.queries + row) * 2;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    to[2 * i] = peaks[i], to[2 * i + 1] = totals[i];
    if constexpr (kDropout) totals[i] *= static_cast<float>(1 - p.dropout.probability);
  }
  y.write(b, h, row, rows, sum.data, totals.data());
}

// What a task of backward computes with: one head of k and v, all heads of q that share it.
template <class Lane, bool kDropout>
struct Backward {
  using Code = typename Lane::Code;
  const Problem& p;
  const Heads &y, &dy;
  const float* statistics;
  const Result &dq, &dk, &dv;
  Buffer<float> scores{kRows * kKeys}, dp{kRows * kKeys};
  Buffer<Code> probabilities{kRows * kKeys}, ds{kRows * kKeys};
  Buffer<float> q_sum{kRows * p.width}, k_sum{p.keys * p.width}, v_sum{p.keys * p.width};
  DropoutMask mask{p};

  void rows(std::int64_t b, std::int64_t h, std::int64_t group, std::int64_t row) const {
    const std::int64_t rows = std::min(kRows, p.queries - row), width = p.width;
    std::array<float, kRows> peaks, totals, dots;
    const float* from = statistics + ((b * p.heads + h) * p.queries + row) * 2;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
      peaks[i] = from[2 * i], totals[i] = from[2 * i + 1];
    at_simd_level<Dots<Lane>>(rows, width, reinterpret_cast<const Code*>(y.at(b, h, row)), y.row,
                              reinterpret_cast<const Code*>(dy.at(b, h, row)), dy.row, dots.data());
    bool begun = false;
    const TileOperand q = p.q.tile(b, h, row), gradient = dy.tile(b, h, row);
    p.tiles(b, row, rows, [&](std::int64_t key, std::int64_t columns, const std::int32_t* visible) {
      const TileOperand k = p.k.tile(b, group, key), v = p.v.tile(b, group, key);
      p.product(rows, columns, width, q, k.transposed(), scores.data, kKeys, false);
      p.product(rows, columns, width, gradient, v.transposed(), dp.data, kKeys, false);
      const ScoreTile tile = mask.of({rows, columns, kKeys, scores.data, visible, p.factor}, b, h, row, key);
      at_simd_level<ScoreGradients<Lane, kDropout>, const ScoreTile&>(
          tile, static_cast<const float*>(dp.data), static_cast<const float*>(peaks.data()),
          static_cast<const float*>(totals.data()), static_cast<const float*>(dots.data()),
          probabilities.data, ds.data);
      const TileOperand shares{probabilities.data, kKeys, 1}, slopes{ds.data, kKeys, 1};
      const std::int64_t at = key * width;
      if (dv.wanted())
        p.product(columns, width, rows, shares.transposed(), gradient, v_sum.data + at, width, true);
      if (dk.wanted()) p.product(columns, width, rows, slopes.transposed(), q, k_sum.data + at, width, true);
      if (dq.wanted()) p.product(rows, width, columns, slopes, k, q_sum.data, width, begun);
      begun = true;
    });
    if (!dq.wanted()) return;
    if (!begun) std::fill_n(q_sum.data, rows * width, 0.0f);
    dq.write(b, h, row, rows, q_sum.data, nullptr);
  }

  void run(std::int64_t b, std::int64_t group) const {
    for (float* sum : {k_sum.data, v_sum.data}) std::fill_n(sum, p.keys * p.width, 0.0f);
    const std::int64_t members = p.heads / p.groups;
    for (std::int64_t h = group * members; h < (group + 1) * members; ++h)
      for (std::int64_t row = 0; row < p.queries; row += kRows) rows(b, h, group, row);
    if (dk.wanted()) dk.write(b, group, 0, p.keys, k_sum.data, nullptr);
    if (dv.wanted()) dv.write(b, group, 0, p.keys, v_sum.data, nullptr);
  }
};

// body(lane, whether there is dropout, as a constant).
template <class Body>
void with_kind(const Problem& p, const Body& body) {
  with_lane(p.format == bfloat16,
            [&](auto lane) { p.drops() ? body(lane, std::true_type()) : body(lane, std::false_type()); });
}

}  // namespace

void attention_forward(const KernelCall& call) {
  const Problem p(call, call.out[0].dtype());
  const Result y(call.out[0]);
  Tensor kept = call.out[1];
  auto* statistics = kept.mutable_data<float>();
  const std::int64_t blocks = chunk_count(p.queries, kRows);
  parallel_for(p.batch * p.heads * blocks, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t head = task / blocks, row = task % blocks * kRows;
    with_kind(p, [&](auto lane, auto drops) {
      forward_rows<decltype(lane), decltype(drops)::value>(p, y, statistics, head / p.heads, head % p.heads,
                                                           row);
    });
  });
  y.finish();
}

void attention_backward(const KernelCall& call) {
  const Problem p(call, call.in[4].dtype());
  const Heads y = operand(call.in[4], p.format), dy = operand(call.in[6], p.format);
  const auto* statistics = call.in[5].data<float>();
  const Result dq(call.out[0]), dk(call.out[1]), dv(call.out[2]);
  parallel_for(p.batch * p.groups, 1, [&](std::int64_t task, std::int64_t) {
    with_kind(p, [&](auto lane, auto drops) {
      Backward<decltype(lane), decltype(drops)::value>{p, y, dy, statistics, dq, dk, dv}.run(task / p.groups,
                                                                                             task % p.groups);
    });
  });
  for (const Result* result : {&dq, &dk, &dv}) result->finish();
}

}  // namespace halftone::cpu
