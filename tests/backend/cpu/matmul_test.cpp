// SPDX-License-Identifier: Apache-2.0
//
// Against plain loops in double.
#include "backend/cpu/bounds.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/onednn_loops.h"

namespace halftone {
namespace {

using test::expect_sums;
using test::Sum;
using test::uniform;

Tensor transposed(const Tensor& x) {
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape[-1], shape[-2]);
  std::swap(strides[-1], strides[-2]);
  return x.view(shape, strides, x.offset());
}

// A matrix of those sizes whose rows, or columns, lie together, with or without a gap between them.
Tensor operand(std::int64_t rows, std::int64_t columns, DType dtype, bool by_columns, std::uint64_t seed,
               std::int64_t gap = 0) {
  if (by_columns) return transposed(operand(columns, rows, dtype, false, seed, gap));
  const Tensor x = uniform({rows, columns + gap}, dtype, seed);
  return x.view({rows, columns}, {columns + gap, 1}, gap);
}

// The exact results of one matrix product; `before` is what c held, or empty.
std::vector<Sum> exact(const std::vector<double>& a, const std::vector<double>& b, std::int64_t rows,
                       std::int64_t inner, std::int64_t columns, const std::vector<double>& bias = {},
                       const std::vector<double>& before = {}) {
  std::vector<Sum> sums;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      Sum sum;
      for (std::int64_t k = 0; k < inner; ++k)
        sum.add(a[static_cast<std::size_t>(i * inner + k)] * b[static_cast<std::size_t>(k * columns + j)]);
      if (!bias.empty()) sum.add(bias[static_cast<std::size_t>(j)]);
      if (!before.empty()) sum.add(before[static_cast<std::size_t>(i * columns + j)]);
      sums.push_back(sum);
    }
  return sums;
}

TEST(CpuMatmul, EveryFormatAndOrderOfMemoryMultipliesExactValues) {
  constexpr std::int64_t kSizes[][3] = {{1, 1, 1}, {3, 5, 2}, {1, 33, 17}, {19, 70, 1}, {65, 129, 33}};
  for (const auto& [rows, inner, columns] : kSizes)
    for (const DType dtype : test::contraction_formats())
      for (const DType result : {float32, dtype})
        for (int order = 0; order < 4; ++order)
          for (const std::int64_t gap : {0, 3}) {
            const Tensor a = operand(rows, inner, dtype, (order & 1) != 0, 1, gap);
            const Tensor b = operand(inner, columns, dtype, (order & 2) != 0, 2, gap);
            const Tensor c({rows, columns}, result);
            cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
            expect_sums(
                c, exact(a.to_vector(), b.to_vector(), rows, inner, columns),
                std::string(dtype.name()) + " " + to_string(c.shape()) + " order " + std::to_string(order));
            if (HasFatalFailure()) return;
          }
}

TEST(CpuMatmul, MixedFormatsAreBothReadExactly) {
  for (const DType left : test::contraction_formats())
    for (const DType right : test::contraction_formats()) {
      const Tensor a = uniform({7, 40}, left, 3), b = uniform({40, 9}, right, 4), c({7, 9}, float32);
      cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
      expect_sums(c, exact(a.to_vector(), b.to_vector(), 7, 40, 9),
                  std::string(left.name()) + " x " + std::string(right.name()));
    }
}

TEST(CpuMatmul, BiasOfAnyFormatIsAddedBeforeTheOneRounding) {
  for (const DType dtype : test::contraction_formats())
    for (const DType bias_dtype : test::contraction_formats()) {
      const Tensor a = uniform({6, 20}, dtype, 5), b = uniform({20, 11}, dtype, 6),
                   bias = uniform({11}, bias_dtype, 7);
      const Tensor c({6, 11}, dtype);
      cpu::matmul({.a = a, .b = b, .c = c, .bias = bias});
      expect_sums(c, exact(a.to_vector(), b.to_vector(), 6, 20, 11, bias.to_vector()),
                  std::string(dtype.name()));
    }
}

TEST(CpuMatmul, AccumulatingAddsToWhatWasThere) {
  for (const DType dtype : test::contraction_formats())
    for (const DType result : {float32, dtype}) {
      const Tensor a = operand(12, 130, dtype, true, 8), b = uniform({130, 21}, dtype, 9),
                   c = uniform({12, 21}, result, 10);
      const std::vector<double> before = c.to_vector();
      cpu::matmul({.a = a, .b = b, .c = c, .bias = {}, .accumulate = true});
      expect_sums(c, exact(a.to_vector(), b.to_vector(), 12, 130, 21, {}, before), std::string(dtype.name()));
    }
}

TEST(CpuMatmul, StridesThatOneDnnDoesNotTakeAreCopied) {
  for (const DType dtype : test::contraction_formats()) {
    const Tensor wide = uniform({9, 60}, dtype, 11), row = uniform({1, 30}, dtype, 12),
                 cube = uniform({30, 8, 2}, dtype, 13);
    const Tensor every_second = wide.view({9, 30}, {60, 2}, 0), repeated = row.view({9, 30}, {0, 1}, 0);
    const Tensor inside = cube.view({30, 8}, {16, 2}, 1);
    for (const Tensor& a : {every_second, repeated}) {
      const Tensor c({9, 8}, dtype);
      cpu::matmul({.a = a, .b = inside, .c = c, .bias = {}});
      expect_sums(c, exact(a.to_vector(), inside.to_vector(), 9, 30, 8), std::string(dtype.name()));
    }
  }
}

TEST(CpuMatmul, TheResultMayHaveAnyStrides) {
  for (const DType dtype : test::contraction_formats()) {
    const Tensor a = uniform({5, 30}, dtype, 14), b = uniform({30, 8}, dtype, 15);
    const Tensor storage = full({5, 24}, 3, dtype);
    const Tensor by_columns = transposed(Tensor({8, 5}, dtype)), spread = storage.view({5, 8}, {24, 2}, 1);
    for (const Tensor& c : {by_columns, spread}) {
      cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
      expect_sums(c, exact(a.to_vector(), b.to_vector(), 5, 30, 8), std::string(dtype.name()));
    }
    const std::vector<double> all = storage.to_vector();
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(all[i] == 3 || (i % 24 < 16 && i % 2 == 1)) << "written outside of the result";
  }
}

TEST(CpuMatmul, BatchesAreSeparateProducts) {
  constexpr std::int64_t kBatch = 2, kHeads = 3, kRows = 10, kInner = 16, kColumns = 12;
  for (const DType dtype : test::contraction_formats()) {
    // (batch, rows, heads, inner), seen as (batch, heads, rows, inner) as attention does.
    const Tensor stored = uniform({kBatch, kRows, kHeads, kInner}, dtype, 16);
    const Shape s = stored.strides();
    const Tensor a = stored.view({kBatch, kHeads, kRows, kInner}, {s[0], s[2], s[1], s[3]}, 0);
    const Tensor each = uniform({kBatch, kHeads, kInner, kColumns}, dtype, 17);
    const Tensor shared = uniform({kInner, kColumns}, dtype, 18);
    for (const Tensor& b : {each, shared}) {
      const Tensor c({kBatch, kHeads, kRows, kColumns}, dtype);
      cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
      const std::vector<double> left = a.to_vector(), right = b.to_vector();
      std::vector<Sum> sums;
      for (std::int64_t n = 0; n < kBatch * kHeads; ++n) {
        const std::int64_t at = b.rank() == 2 ? 0 : n * kInner * kColumns;
        const std::vector<Sum> one =
            exact({left.begin() + n * kRows * kInner, left.begin() + (n + 1) * kRows * kInner},
                  {right.begin() + at, right.begin() + at + kInner * kColumns}, kRows, kInner, kColumns);
        sums.insert(sums.end(), one.begin(), one.end());
      }
      expect_sums(c, sums, std::string(dtype.name()));
    }
  }
}

TEST(CpuMatmul, AMatrixSharedByABatchOfRowsMultipliesThemAll) {
  const Tensor a = uniform({2, 3, 4, 20}, bfloat16, 19), b = uniform({20, 7}, bfloat16, 20),
               c({2, 3, 4, 7}, float32);
  cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
  expect_sums(c, exact(a.to_vector(), b.to_vector(), 24, 20, 7), "folded");
}

TEST(CpuMatmul, EmptyProductsAreZeroOrTheBias) {
  const Tensor a({3, 0}, float16), b({0, 4}, float16), c = full({3, 4}, 9, float16),
                                                       bias = uniform({4}, float32, 21);
  cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
  EXPECT_EQ(c.to_vector(), std::vector<double>(12, 0.0));
  cpu::matmul({.a = a, .b = b, .c = c, .bias = bias});
  expect_sums(c, exact({}, {}, 3, 0, 4, bias.to_vector()), "bias");
  const Tensor nothing({0, 4}, float32);
  cpu::matmul({.a = Tensor({0, 5}, float32), .b = uniform({5, 4}, float32, 22), .c = nothing, .bias = {}});
}

TEST(CpuMatmul, Float64OperandsAreMultipliedInDouble) {
  const Tensor a = from_values(std::vector<double>{1, 0x1p-40}, {1, 2}, float64);
  const Tensor b = from_values(std::vector<double>{1, 1}, {2, 1}, float64), c({1, 1}, float64);
  cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
  EXPECT_EQ(c.item(), 1 + 0x1p-40);
}

TEST(CpuMatmul, SpecialValuesPropagate) {
  const double inf = INFINITY;
  for (const DType dtype : {float32, bfloat16, float16}) {
    const Tensor a = from_values(std::vector<double>{inf, 1, 1, 1, NAN, 1}, {3, 2}, dtype);
    const Tensor b = from_values(std::vector<double>{1, 0, 1, 1}, {2, 2}, dtype), c({3, 2}, dtype);
    cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
    const std::vector<double> v = c.to_vector();
    EXPECT_EQ(v[0], inf);
    EXPECT_TRUE(std::isnan(v[1]));  // infinity times zero
    EXPECT_EQ(v[2], 2);
    EXPECT_TRUE(std::isnan(v[4]));
  }
}

TEST(CpuMatmul, AnyNumberOfThreadsGivesTheSameBits) {
  // The shapes with a long inner dimension are those whose sums oneDNN would divide among its threads.
  struct Case {
    std::int64_t rows, inner, columns;
    bool a_by_columns, b_by_columns;
  };
  constexpr Case kCases[] = {{16, 20000, 16, true, false},  {7, 30000, 5, true, true},
                             {300, 5000, 1, true, false},   {64, 8192, 64, true, false},
                             {128, 784, 512, false, true},  {512, 128, 784, true, false},
                             {40, 64, 4000, false, false},  {515, 130, 77, false, false},
                             {1030, 60, 1101, false, true}, {1030, 60, 401, true, false}};
  const test::Threads restore;
  for (const Case& shape : kCases)
    for (const DType dtype : {float32, bfloat16, float16})
      for (const bool accumulate : {false, true}) {
        const DType result = accumulate ? float32 : dtype;
        const Tensor a = operand(shape.rows, shape.inner, dtype, shape.a_by_columns, 23);
        const Tensor b = operand(shape.inner, shape.columns, dtype, shape.b_by_columns, 24);
        std::vector<Tensor> results;
        for (const int threads : {1, 2, 3}) {
          set_thread_count(threads);
          cpu::forget_primitives();  // as in a process that never had another number
          results.push_back(full({shape.rows, shape.columns}, 0.1, result));
          cpu::matmul({.a = a, .b = b, .c = results.back(), .bias = {}, .accumulate = accumulate});
        }
        EXPECT_TRUE(test::same_bits(results[0], results[1]))
            << dtype.name() << " " << to_string(results[0].shape());
        EXPECT_TRUE(test::same_bits(results[0], results[2]))
            << dtype.name() << " " << to_string(results[0].shape());
      }
}

TEST(CpuMatmul, ResultsCutIntoTilesAreWholeProducts) {
  // Rows cut, columns cut, both cut, a copied because its columns are pages apart; nothing divides.
  constexpr std::int64_t kSizes[][3] = {{515, 40, 401}, {40, 30, 4099}, {1030, 7, 1101}, {1030, 60, 70}};
  for (const auto& [rows, inner, columns] : kSizes)
    for (const DType dtype : {float32, bfloat16, float16})
      for (const DType result : {float32, dtype})
        for (int order = 0; order < 4; ++order)
          for (const std::int64_t gap : {0, 3}) {
            if (gap == 0 && rows * columns > 1'000'000 && dtype != float32) continue;  // takes long
            const Tensor a = operand(rows, inner, dtype, (order & 1) != 0, 25, gap);
            const Tensor b = operand(inner, columns, dtype, (order & 2) != 0, 26, gap);
            const Tensor bias = uniform({columns}, float32, 27),
                         c = operand(rows, columns, result, false, 28, gap);
            cpu::matmul({.a = a, .b = b, .c = c, .bias = bias});
            expect_sums(
                c, exact(a.to_vector(), b.to_vector(), rows, inner, columns, bias.to_vector()),
                std::string(dtype.name()) + " " + to_string(c.shape()) + " order " + std::to_string(order));
            if (HasFatalFailure()) return;
          }
}

TEST(CpuMatmul, TilesAccumulateIntoNarrowResultsAndWriteNothingBeside) {
  for (const auto& [rows, columns] : {std::pair{515, 70}, std::pair{40, 4099}}) {
    const Tensor a = uniform({rows, 40}, float16, 29), b = uniform({40, columns}, float16, 30);
    const Tensor storage = uniform({rows, columns + 9}, float16, 31);
    const Tensor c = storage.view({rows, columns}, {columns + 9, 1}, 4);
    const std::vector<double> before = c.to_vector(), all = storage.to_vector();
    cpu::matmul({.a = a, .b = b, .c = c, .bias = {}, .accumulate = true});
    expect_sums(c, exact(a.to_vector(), b.to_vector(), rows, 40, columns, {}, before), to_string(c.shape()));
    const std::vector<double> after = storage.to_vector();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i) % (columns + 9);
      EXPECT_TRUE((column >= 4 && column < columns + 4) || after[i] == all[i])
          << "written outside of the result";
    }
  }
}

TEST(CpuMatmul, ANarrowProductIsThatOfTheDecodedMatricesRoundedOnce) {
  const Backend& cpu = find_backend("cpu");
  const auto as = [&](const Tensor& x, DType dtype) {
    const Tensor y(x.shape(), dtype);
    cpu.copy(x, y);
    return y;
  };
  for (const auto& [rows, columns] : {std::pair{520, 300}, std::pair{1030, 401}})
    for (const bool by_columns : {false, true}) {
      const Tensor a = operand(rows, 700, float16, by_columns, 32), b = uniform({700, columns}, float16, 33);
      const Tensor c({rows, columns}, float16), wide({rows, columns}, float32);
      cpu::matmul({.a = a, .b = b, .c = c, .bias = {}});
      const Tensor a32 = by_columns ? transposed(as(transposed(a), float32)) : as(a, float32);
      cpu::matmul({.a = a32, .b = as(b, float32), .c = wide, .bias = {}});
      EXPECT_TRUE(test::same_bits(c, as(wide, float16))) << rows << (by_columns ? " by columns" : "");
    }
}

}  // namespace
}  // namespace halftone
