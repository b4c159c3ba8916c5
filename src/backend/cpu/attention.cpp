// SPDX-License-Identifier: Apache-2.0
//
// Attention in tiles that stay in the second-level cache, so that memory grows with the context and not with
// its square (Rabe and Staats 2021; Dao et al. 2022): kRows queries at a time meet kKeys keys at a time.
// Forward keeps the largest score and the sum of exponentials of each query (Milakov and Gimelshein 2018) and
// rounds exponentials once, to the format of the products; backward computes them again from those two.
// Results and gradients are summed in float32 and rounded once. A tile of scores is (keys, queries), so that
// softmax works on vectors of queries and only y and dq come from transposed tiles. What no query sees is
// skipped, by kStep x kStep.
#include <algorithm>
#include <any>
#include <array>
#include <cstring>
#include <numbers>
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
// Where a mask cuts a tile, its queries are taken so many at a time, with keys up to a multiple of it: few
// sizes serve every mask, each a primitive of its own, and little is computed that no query sees.
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
  // The same from a copy in `memory`, if rows are far apart: every product would wait for each row again.
  TileOperand gathered(std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t rows,
                       void* memory) const {
    const std::int64_t width = tensor.size(3), bytes = width * dtype.bytes(), stride = row * dtype.bytes();
    if (row == width) return tile(b, h, r);
    const std::byte* from = at(b, h, r);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < bytes; j += 64) __builtin_prefetch(from + (i + 8) * stride + j);
      std::memcpy(static_cast<std::byte*>(memory) + i * bytes, from + i * stride,
                  static_cast<std::size_t>(bytes));
    }
    return {memory, width, 1};
  }
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
  float factor, exponent;  // the second for powers of 2
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
    exponent = static_cast<float>(options.factor * std::numbers::log2e);
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

  // body(first query, queries, keys, how many of these queries do not see each key) for the parts that some
  // query sees of the tile whose first query is `row` and first key `key`.
  template <class Body>
  void parts(std::int64_t b, std::int64_t row, std::int64_t key, const Body& body) const {
    const std::int64_t end = std::min(row + kRows, queries), most = std::min(kKeys, keys - key);
    const auto seen = [&](std::int64_t query) {
      return std::clamp<std::int64_t>(round_up(sees(b, query) - key, kStep), 0, most);
    };
    const std::int64_t step = seen(row) == seen(end - 1) ? kRows : kStep;
    std::array<std::int32_t, kKeys> hidden;
    for (std::int64_t first = row; first < end; first += step) {
      const std::int64_t count = std::min(step, end - first), visible = seen(first + count - 1);
      if (visible == 0) continue;
      hide(b, first, count, key, visible, hidden.data());
      body(first, count, visible, hidden.data());
    }
  }

  void hide(std::int64_t b, std::int64_t first, std::int64_t count, std::int64_t key, std::int64_t visible,
            std::int32_t* hidden) const {
    const std::int64_t length = lengths ? lengths[b] - key : visible, before = keys - queries + first - key;
    for (std::int64_t i = 0; i < visible; ++i) {
      const std::int64_t masked = causal ? std::clamp<std::int64_t>(i - before, 0, count) : 0;
      hidden[i] = static_cast<std::int32_t>(i < length ? masked : count);
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

// Tiles of scores, with their masks of dropout.
class Scores {
 public:
  explicit Scores(const Problem& p)
      : problem_(p), scores_(kRows * kKeys), kept_(p.drops() ? kRows * kKeys : 0) {}

  // k q^T of head (b, h) for queries from `first` and keys from `key` on.
  ScoreTile of(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, std::int64_t key,
               std::int64_t keys, const TileOperand& q, const TileOperand& k,
               const std::int32_t* hidden) const {
    const Problem& p = problem_;
    const std::int64_t stride = round_up(count, kLanes);
    p.product(keys, count, p.width, k, q.transposed(), scores_.data, stride, false);
    ScoreTile tile{keys, count, stride, scores_.data, hidden, p.exponent};
    if (!p.drops()) return tile;
    std::array<std::uint8_t, kKeys> kept;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = ((b * p.heads + h) * p.queries + first + i) * p.keys + key;
      random_kept(p.dropout.seed, streams::dropout, p.dropout.first + static_cast<std::uint64_t>(index),
                  p.dropout.probability, kept.data(), keys);
      for (std::int64_t j = 0; j < keys; ++j) kept_.data[j * stride + i] = kept[static_cast<std::size_t>(j)];
    }
    tile.kept = kept_.data;
    tile.scale = static_cast<float>(p.dropout.scale());
    return tile;
  }

 private:
  const Problem& problem_;
  Buffer<float> scores_;
  Buffer<std::uint8_t> kept_;
};

template <class Lane, bool kDropout>
void forward_rows(const Problem& p, const Result& y, float* statistics, std::int64_t b, std::int64_t h,
                  std::int64_t row) {
  using Code = typename Lane::Code;
  const std::int64_t rows = std::min(kRows, p.queries - row), group = h / (p.heads / p.groups);
  const Scores scores(p);
  const Buffer<float> sum(kRows * p.width);
  const Buffer<Code> codes(kRows * kKeys), q_rows(kRows * p.width);
  const TileOperand q = p.q.gathered(b, h, row, rows, q_rows.data);
  std::array<float, kRows> peaks, totals{}, decays;
  peaks.fill(ScoreTile::kNothing);
  if (p.sees(b, row) == 0) std::fill_n(sum.data, rows * p.width, 0.0f);
  for (std::int64_t key = 0; key < p.sees(b, row + rows - 1); key += kKeys)
    p.parts(b, row, key,
            [&](std::int64_t first, std::int64_t count, std::int64_t keys, const std::int32_t* hidden) {
              const std::int64_t at = first - row;
              const TileOperand part{static_cast<const Code*>(q.data) + at * q.row, q.row, 1};
              const ScoreTile tile =
                  scores.of(b, h, first, count, key, keys, part, p.k.tile(b, group, key), hidden);
              float* to = sum.data + at * p.width;
              at_simd_level<Exponentials<Lane, kDropout>, const ScoreTile&>(
                  tile, codes.data, peaks.data() + at, totals.data() + at, decays.data() + at);
              if (key > 0)
                at_simd_level<Decay>(count, p.width, to, static_cast<const float*>(decays.data() + at));
              p.product(count, p.width, keys, TileOperand{codes.data, tile.stride, 1}.transposed(),
                        p.v.tile(b, group, key), to, p.width, key > 0);
            });
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
  std::int64_t b, group, members = p.heads / p.groups, padded = round_up(p.queries, kLanes);
  Scores scores{p};
  Buffer<float> dp{kRows * kKeys}, peaks{members * padded}, totals{members * padded}, dots{members * padded};
  Buffer<Code> probabilities{kRows * kKeys}, ds{kRows * kKeys}, q_rows{kRows * p.width},
      dy_rows{kRows * p.width};
  Buffer<float> q_sum{members * p.queries * p.width}, k_sum{kKeys * p.width}, v_sum{kKeys * p.width};

  // Of queries from `first` on of the head number `member` of the group, with the tile of keys from `key` on.
  void part(std::int64_t member, std::int64_t first, std::int64_t count, std::int64_t key, std::int64_t keys,
            const std::int32_t* hidden) const {
    const std::int64_t h = group * members + member, width = p.width, at = member * padded + first;
    const TileOperand k = p.k.tile(b, group, key), v = p.v.tile(b, group, key),
                      q = p.q.gathered(b, h, first, count, q_rows.data),
                      gradient = dy.gathered(b, h, first, count, dy_rows.data);
    const ScoreTile tile = scores.of(b, h, first, count, key, keys, q, k, hidden);
    p.product(keys, count, width, v, gradient.transposed(), dp.data, tile.stride, false);
    at_simd_level<ScoreGradients<Lane, kDropout>, const ScoreTile&>(
        tile, p.factor, static_cast<const float*>(dp.data), static_cast<const float*>(peaks.data + at),
        static_cast<const float*>(totals.data + at), static_cast<const float*>(dots.data + at),
        probabilities.data, ds.data);
    const TileOperand shares{probabilities.data, tile.stride, 1}, slopes{ds.data, tile.stride, 1};
    if (dv.wanted()) p.product(keys, width, count, shares, gradient, v_sum.data, width, true);
    if (dk.wanted()) p.product(keys, width, count, slopes, q, k_sum.data, width, true);
    if (dq.wanted())
      p.product(count, width, keys, slopes.transposed(), k, q_sum.data + (member * p.queries + first) * width,
                width, key > 0);
  }

  // The sums of a tile of keys stay in the cache while all queries pass.
  void tile(std::int64_t key) const {
    const std::int64_t keys = std::min(kKeys, p.keys - key);
    for (float* sum : {k_sum.data, v_sum.data}) std::fill_n(sum, keys * p.width, 0.0f);
    for (std::int64_t member = 0; member < members; ++member)
      for (std::int64_t row = 0; row < p.queries; row += kRows)
        p.parts(b, row, key,
                [&](std::int64_t first, std::int64_t count, std::int64_t seen, const std::int32_t* hidden) {
                  part(member, first, count, key, seen, hidden);
                });
    if (dk.wanted()) dk.write(b, group, key, keys, k_sum.data, nullptr);
    if (dv.wanted()) dv.write(b, group, key, keys, v_sum.data, nullptr);
  }

  void prepare(std::int64_t member) const {
    const std::int64_t h = group * members + member, at = member * padded;
    const float* from = statistics + (b * p.heads + h) * p.queries * 2;
    for (std::int64_t i = 0; i < p.queries; ++i)
      peaks.data[at + i] = from[2 * i], totals.data[at + i] = from[2 * i + 1];
    at_simd_level<Dots<Lane>>(p.queries, p.width, reinterpret_cast<const Code*>(y.at(b, h, 0)), y.row,
                              reinterpret_cast<const Code*>(dy.at(b, h, 0)), dy.row, dots.data + at);
  }

  void run() const {
    for (std::int64_t member = 0; member < members; ++member) prepare(member);
    const std::int64_t rows = members * p.queries;
    if (p.sees(b, 0) == 0) std::fill_n(q_sum.data, rows * p.width, 0.0f);
    for (std::int64_t key = 0; key < p.keys; key += kKeys) tile(key);
    if (!dq.wanted()) return;
    for (std::int64_t member = 0; member < members; ++member)
      dq.write(b, group * members + member, 0, p.queries, q_sum.data + member * p.queries * p.width, nullptr);
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
      Backward<decltype(lane), decltype(drops)::value>{
          p, y, dy, statistics, dq, dk, dv, task / p.groups, task % p.groups}
          .run();
    });
  });
  for (const Result* result : {&dq, &dk, &dv}) result->finish();
}

}  // namespace halftone::cpu
