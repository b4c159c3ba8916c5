// SPDX-License-Identifier: Apache-2.0
//
// Attention at the sizes where its tiles begin and end, in every format, against the definition in double on
// the same values; masks; memory; threads.
#include "op/attend.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "halftone/amp.h"
#include "halftone/ops.h"
#include "halftone/parallel.h"
#include "halftone/simd.h"
#include "op/examples.h"

namespace halftone {
namespace {

struct Case {
  std::int64_t batch, heads, groups, queries, keys, width;
  bool causal;
  std::vector<double> lengths{};
  double dropout = 0;

  std::string name() const {
    return fmt::format("batch {}, heads {} of {}, {} queries, {} keys, width {}{}, dropout {}", batch, heads,
                       groups, queries, keys, width, causal ? ", causal" : "", dropout);
  }
  AttentionOptions options() const {
    return {.causal = causal,
            .lengths = lengths.empty() ? Tensor() : from_values(lengths, {batch}, int32),
            .dropout = dropout};
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {1, 2, 2, 1, 1, 16, true},
      {1, 1, 1, 129, 129, 80, true},
      {1, 1, 1, 257, 257, 64, true},
      {2, 2, 1, 130, 140, 16, true, {140, 100}},
      {1, 1, 1, 130, 1100, 16, true},  // keys in three tiles
      {1, 2, 1, 20, 530, 128, false, {514}},
      {3, 1, 1, 40, 70, 16, false, {0, 70, 1}},
      {1, 1, 1, 200, 90, 16, true},  // the first 110 queries see no key
      {2, 2, 1, 130, 141, 16, true, {140, 100}, 0.1},
      {1, 2, 2, 30, 1041, 16, false, {}, 0.5},
      {1, 4, 2, 200, 700, 16, true, {650}, 0.1},  // two heads to a group, keys in two tiles
  };
  return all;
}

struct Outcome {
  Tensor y;
  std::vector<Tensor> gradients;
};

std::vector<Tensor> operands(const Case& c, DType dtype) {
  const Shape q{c.batch, c.heads, c.queries, c.width}, k{c.batch, c.groups, c.keys, c.width};
  return {random_uniform(q, -2, 2, 3, streams::example, dtype),
          random_uniform(k, -2, 2, 4, streams::example, dtype),
          random_uniform(k, -2, 2, 5, streams::example, dtype),
          random_uniform(q, -2, 2, 6, streams::example, dtype)};
}

Outcome run(const Case& c, const std::vector<Tensor>& operands, std::string_view backend = "cpu") {
  return with_backend(backend, [&] {
    std::vector<Tensor> x;
    for (int i = 0; i < 3; ++i)
      x.push_back(operands[static_cast<std::size_t>(i)].detach().set_requires_grad());
    manual_seed(8);
    take_random(5);
    Outcome outcome{attention(x[0], x[1], x[2], c.options()), {}};
    outcome.gradients = gradients(outcome.y, x, {}, operands[3]);
    return outcome;
  });
}

std::vector<Tensor> in_double(const std::vector<Tensor>& operands) {
  std::vector<Tensor> wide;
  for (const Tensor& x : operands) wide.push_back(cast(x, float64).detach());
  return wide;
}

// |a - b| <= tolerance * u * max(1, max|b|): gradients through a softmax are differences of numbers of that
// size.
void expect_near(const Tensor& a, const Tensor& b, DType dtype, double tolerance) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  ASSERT_EQ(x.size(), y.size());
  double largest = 1, worst = 0;
  for (const double v : y) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    worst = difference <= worst ? worst : difference;  // NaN stays
  }
  EXPECT_LE(worst / largest, tolerance * epsilon(dtype.format()) / 2);
}

TEST(Attend, IsTheDefinitionInDoubleAtEverySizeInEveryFormat) {
  for (const Case& c : cases())
    for (const DType dtype : {float32, bfloat16, float16, float8_e4m3fn, float8_e5m2}) {
      if (dtype.bytes() == 1 && c.queries * c.keys * c.width > 2'000'000) continue;  // for the time it takes
      SCOPED_TRACE(c.name() + " in " + std::string(dtype.name()));
      const std::vector<Tensor> x = operands(c, dtype);
      const Outcome fast = run(c, x), exact = run(c, in_double(x), "reference");
      const double tolerance = dtype == float32 ? 32 : 2;
      EXPECT_EQ(fast.y.dtype(), dtype);
      expect_near(fast.y, exact.y, dtype, tolerance);
      for (std::size_t i = 0; i < 3; ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(fast.gradients[i].dtype(), float32);
        expect_near(fast.gradients[i], exact.gradients[i], dtype, tolerance);
      }
    }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

TEST(Attend, HasTheSameBitsOnAnyNumberOfThreadsAndAtAnySimdLevel) {
  const int threads = thread_count();
  const SimdLevel level = simd_level();
  for (const Case& c : cases())
    for (const DType dtype : {float32, bfloat16}) {
      SCOPED_TRACE(c.name());
      const std::vector<Tensor> x = operands(c, dtype);
      const Outcome expected = run(c, x);
      for (const int count : {1, 2})
        for (const SimdLevel simd : {SimdLevel::baseline, SimdLevel::avx2, best_simd_level()}) {
          set_thread_count(count);
          set_simd_level(std::min(simd, best_simd_level()));
          const Outcome again = run(c, x);
          EXPECT_TRUE(same_bits(again.y, expected.y));
          for (std::size_t i = 0; i < 3; ++i)
            EXPECT_TRUE(same_bits(again.gradients[i], expected.gradients[i])) << i;
        }
      set_thread_count(threads);
      set_simd_level(level);
    }
}

TEST(Attend, ReadsThePartsOfOneTensorAsItReadsThreeTensors) {
  for (const DType dtype : {float32, bfloat16, float16})
    for (const int groups : {4, 2, 1}) {
      constexpr std::int64_t kBatch = 2, kContext = 150, kWidth = 16;
      constexpr int kHeads = 4;
      const Tensor qkv = random_uniform({kBatch, kContext, (kHeads + 2 * groups) * kWidth}, -1, 1, 9,
                                        streams::example, dtype)
                             .set_requires_grad();
      const AttentionOptions options{
          .causal = true, .lengths = from_values({150, 70}, int32), .kv_heads = groups, .dropout = 0.2};
      const auto part = [&](int first, int heads) {
        return transpose(reshape(slice(qkv, 2, first * kWidth, (first + heads) * kWidth),
                                 {kBatch, kContext, heads, kWidth}),
                         1, 2);
      };
      manual_seed(6);
      const Tensor separate = transpose(
          attention(part(0, kHeads), part(kHeads, groups), part(kHeads + groups, groups), options), 1, 2);
      EXPECT_TRUE(separate.is_contiguous()) << "the memory order of the queries";
      manual_seed(6);
      const Tensor joined = reshape(separate, {kBatch, kContext, kHeads * kWidth}),
                   packed = self_attention(qkv, kHeads, options);
      EXPECT_TRUE(packed.is_contiguous());
      EXPECT_TRUE(same_bits(packed, joined));
      const Tensor dy = random_uniform(packed.shape(), -1, 1, 8, streams::example, dtype);
      const Tensor a = gradients(packed, {qkv}, {}, dy)[0], b = gradients(joined, {qkv}, {}, dy)[0];
      expect_close(a, b, dtype, 2);  // three parts were rounded on their way into one
    }
}

TEST(Attend, HidesWhatIsBeyondTheLengthOfASequenceAndBelowIt) {
  Case c{2, 1, 1, 6, 600, 16, false, {560, 0}};
  std::vector<Tensor> x = operands(c, float32);
  const Outcome before = run(c, x);
  for (int i = 1; i < 3; ++i) {  // keys and values that nobody may see, in the tile that holds the last one
    auto* values = x[static_cast<std::size_t>(i)].mutable_data<float>();
    for (std::int64_t key = 560; key < 600; ++key) values[key * 16] = 1e30f;
  }
  const Outcome after = run(c, x);
  EXPECT_TRUE(same_bits(before.y, after.y));
  for (const Tensor& g : after.gradients)
    for (const double v : g.to_vector()) EXPECT_LT(std::abs(v), 1e3);
  const std::vector<double> dk = after.gradients[1].to_vector();
  for (std::size_t i = 560 * 16; i < dk.size(); ++i) EXPECT_EQ(dk[i], 0) << i;
}

TEST(Attend, WritesOnlyTheGradientsThatAreWanted) {
  const Case c{1, 2, 1, 9, 9, 16, true};
  const std::vector<Tensor> x = operands(c, float32);
  const Outcome all = run(c, x);
  for (const std::string_view backend : {"cpu", "reference"})
    for (std::size_t wanted = 0; wanted < 3; ++wanted)
      with_backend(backend, [&] {
        std::vector<Tensor> leaves;
        for (int i = 0; i < 3; ++i) leaves.push_back(x[static_cast<std::size_t>(i)].detach());
        leaves[wanted].set_requires_grad();
        const Tensor y = attention(leaves[0], leaves[1], leaves[2], c.options());
        expect_close(gradients(y, {leaves[wanted]}, {}, x[3])[0], all.gradients[wanted], float32, 64);
      });
}

TEST(Attend, TakesANegativeFactorAndEmptyOperands) {
  const Case c{1, 1, 1, 5, 40, 16, true};
  const std::vector<Tensor> x = operands(c, float32);
  const auto mixed = [&](double factor, const Tensor& q) {
    return attention(q, x[1], x[2], {.causal = true, .factor = factor});
  };
  expect_close(mixed(-0.3, x[0]), mixed(0.3, scale(x[0], -1)), float32, 64);
  EXPECT_EQ(attention(zeros({1, 2, 0, 4}), zeros({1, 2, 3, 4}), zeros({1, 2, 3, 4})).count(), 0);
  const Tensor none = attention(ones({1, 1, 2, 2}), zeros({1, 1, 0, 2}), zeros({1, 1, 0, 2}));
  EXPECT_EQ(none.to_vector(), (std::vector<double>{0, 0, 0, 0}));
}

// What backward needs beside operands and result must not be changed by the caller in between.
TEST(Attend, KeepsItsOwnLengths) {
  Case c{1, 1, 1, 4, 8, 16, false, {5}};
  const std::vector<Tensor> x = operands(c, float32);
  const Tensor expected = run(c, x).gradients[0];
  Tensor q = x[0].detach().set_requires_grad();
  AttentionOptions options = c.options();
  const Tensor y = attention(q, x[1], x[2], options);
  *options.lengths.mutable_data<std::int32_t>() = 1;
  EXPECT_TRUE(same_bits(gradients(y, {q}, {}, x[3])[0], expected));
}

TEST(Attend, LengthsMayHaveStrides) {
  const Tensor q = random_normal({2, 2, 3, 4}, 1, 1), qkv = random_normal({2, 3, 24}, 2, 1);
  const AttentionOptions dense{.lengths = from_values({2, 1}, int32)};
  const AttentionOptions strided{.lengths = from_values({2, 3, 1, 3}, int32).view({2}, {2}, 0)};
  EXPECT_TRUE(same_bits(attention(q, q, q, strided), attention(q, q, q, dense)));
  EXPECT_TRUE(same_bits(self_attention(qkv, 2, strided), self_attention(qkv, 2, dense)));
}

// Without scores all shares are the same, and with the identity for values they are the result.
TEST(Attend, DropsWhatTheRandomNumbersSay) {
  constexpr std::int64_t kBatch = 2, kHeads = 3, kQueries = 5, kKeys = 16;
  constexpr double kDropout = 0.25;
  std::vector<double> identity;
  for (std::int64_t i = 0; i < kBatch * kHeads * kKeys * kKeys; ++i)
    identity.push_back(i / kKeys % kKeys == i % kKeys);
  const Shape wide{kBatch, kHeads, kKeys, kKeys};
  const Tensor q = zeros({kBatch, kHeads, kQueries, kKeys}), k = ones(wide),
               v = from_values(identity, wide, float32);
  for (const std::string_view backend : {"cpu", "reference"}) {
    manual_seed(4);
    take_random(7);
    const std::vector<double> y =
        with_backend(backend, [&] { return attention(q, k, v, {.dropout = kDropout}).to_vector(); });
    EXPECT_EQ(thread_state().random_index, 7 + y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool kept = random_uniform_at(4, streams::dropout, 7 + i) >= kDropout;
      EXPECT_FLOAT_EQ(static_cast<float>(y[i]), static_cast<float>(kept / (kKeys * (1 - kDropout)))) << i;
    }
  }
}

TEST(Attend, DropsNothingOutsideTraining) {
  Case c{1, 2, 2, 40, 70, 16, true};
  const std::vector<Tensor> x = operands(c, float32);
  const Tensor whole = run(c, x).y;
  c.dropout = 0.5;
  EXPECT_FALSE(same_bits(run(c, x).y, whole));
  manual_seed(4);
  const Tensor y = inference([&] { return attention(x[0], x[1], x[2], c.options()); });
  EXPECT_TRUE(same_bits(y, whole));
  EXPECT_EQ(thread_state().random_index, 0U);
}

TEST(Attend, DropsTheSameWhenRecomputed) {
  const Tensor qkv = random_uniform({2, 150, 96}, -1, 1, 9, streams::example, float32);
  const auto call = [](const std::vector<Tensor>& in) {
    return self_attention(in[0], 2, {.causal = true, .dropout = 0.3});
  };
  std::vector<Tensor> results[2];
  for (const bool recompute : {false, true}) {
    manual_seed(4);
    Tensor x = qkv.detach().set_requires_grad();
    const Tensor first = recompute ? checkpoint(call, {x}) : call({x}), second = call({x});
    EXPECT_FALSE(same_bits(first, second)) << "the stream goes on";
    results[recompute] = {first, second, gradients(sum(mul(first, second)), {x})[0]};
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(results[0][i], results[1][i])) << i;
}

std::int64_t peak_of(std::int64_t context, DType dtype) {
  Tensor qkv = random_uniform({1, context, 96}, -1, 1, 1, streams::example, dtype).set_requires_grad();
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  sum(self_attention(qkv, 2, {.causal = true, .dropout = 0.1})).backward();
  return memory_stats().peak - before;
}

TEST(Attend, NeedsMemoryLinearInTheContext) {
  for (const DType dtype : {float32, bfloat16, float16}) {
    const std::int64_t once = peak_of(1024, dtype), four_times = peak_of(4096, dtype);
    EXPECT_LE(four_times, 4 * once) << dtype.name();
    EXPECT_LT(four_times, 4096 * 4096 / 2) << "scores of one head have 64 MiB";
  }
}

TEST(Attend, RefusesWhatItCannotRead) {
  const Tensor x = zeros({2, 2, 3, 4});
  EXPECT_THROW(attention(x, zeros({2, 2, 3, 5}), zeros({2, 2, 3, 5})), ShapeError);
  EXPECT_THROW(attention(x, zeros({2, 3, 3, 4}), zeros({2, 3, 3, 4})), ShapeError);
  EXPECT_THROW(attention(x, x, x, {.kv_heads = 1}), ShapeError);
  EXPECT_THROW(attention(x, x, x, {.lengths = zeros({2})}), DTypeError);
  EXPECT_THROW(attention(x, x, x, {.lengths = zeros({3}, int32)}), ShapeError);
  EXPECT_THROW(attention(x, x, x, {.lengths = from_values({3, 4}, int32)}), ValueError);
  EXPECT_THROW(attention(x, x, x, {.lengths = from_values({-1, 3}, int32)}), ValueError);
  for (const double p : {-0.1, 1.0, static_cast<double>(NAN)}) {
    EXPECT_THROW(attention(x, x, x, {.dropout = p}), ValueError);
    EXPECT_THROW(self_attention(zeros({2, 3, 24}), 2, {.dropout = p}), ValueError);
  }
  EXPECT_THROW(self_attention(zeros({2, 3, 24}), 5), ShapeError);
  EXPECT_THROW(self_attention(zeros({2, 3, 24}), 4, {.kv_heads = 3}), ShapeError);
  EXPECT_THROW(self_attention(zeros({2, 3, 24}), 2, {.lengths = from_values({3, 4}, int32)}), ValueError);
}

}  // namespace
}  // namespace halftone
