// SPDX-License-Identifier: Apache-2.0
//
// Every loop of every backend against the reference backend, over formats, layouts, broadcasts and sizes. The
// numbers are such that no rounding happens inside a loop (support.h), so the results must agree bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& reference() { return find_backend("reference"); }

class EveryBackend : public ::testing::TestWithParam<const Backend*> {
 protected:
  const Backend& backend() const { return *GetParam(); }

  // Runs `call(backend, out)` on this backend and on the reference, each with its own copy of `out`.
  template <class Call>
  void compare(const Tensor& out, const std::string& what, const Call& call) const {
    const Tensor actual = clone(out), expected = clone(out);
    call(backend(), actual);
    call(reference(), expected);
    expect_same(actual, expected, what);
  }
};

std::string describe(const Tensor& x) {
  return fmt::format("{} {} strides {}", x.dtype().name(), to_string(x.shape()), to_string(x.strides()));
}

constexpr Formula kFused =
    formula<3>([](auto x, auto y, auto z, const auto* p) { return x > 0 ? x * y + z : z - p[0] * x; });
constexpr double kParameters[] = {0.5};

const Shape kShapes[] = {{},       {1},      {7},       {1, 5, 1},      {3, 5},
                         {1030},   {40, 37}, {2, 1025}, {1, 2, 70, 33}, {5, 4, 3, 2, 3},
                         {300, 4}, {70000}};

TEST_P(EveryBackend, ElementwiseOverFormatsAndSizes) {
  const DType formats[] = {float32, bfloat16, float16, float8_e4m3fn, float8_e5m2, float64, int32, uint8};
  for (const Shape& shape : kShapes)
    for (const DType in : formats)
      for (const DType out : {float32, in.is_floating() ? in : float16}) {
        if (shape.count() > 10000 && in != float32 && in != bfloat16) continue;
        const Tensor x = quarters(shape, in, 1), y = quarters(shape, float32, 2), z = quarters(shape, in, 3);
        compare(empty(shape, out), describe(x), [&](const Backend& b, const Tensor& result) {
          b.elementwise(kFused, std::array{x, y, z}, result, kParameters);
        });
      }
}

TEST_P(EveryBackend, ElementwiseOverLayouts) {
  for (const Shape& shape : {Shape{3, 5}, Shape{40, 37}, Shape{5, 4, 3, 2}, Shape{2, 1025}, Shape{300, 4}})
    for (const DType dtype : {float32, bfloat16, float8_e5m2})
      for (const Layout in : kLayouts)
        for (const Layout out : kLayouts) {
          const Tensor x = quarters(shape, dtype, 1, in), y = quarters(shape, float32, 2, out),
                       z = quarters(shape, dtype, 3, in);
          const Tensor target = in_layout(shape, dtype, out);
          compare(target, describe(x) + " to " + describe(target),
                  [&](const Backend& b, const Tensor& result) {
                    b.elementwise(kFused, std::array{x, y, z}, result, kParameters);
                  });
        }
}

TEST_P(EveryBackend, ElementwiseOverBroadcasts) {
  const Shape whole{3, 50, 32};
  const Shape parts[] = {{}, {1}, {32}, {50, 1}, {1, 1, 32}, {3, 1, 1}, {3, 1, 32}, {1, 50, 32}, {3, 50, 1}};
  for (const DType dtype : {float32, bfloat16})
    for (const Shape& part : parts)
      for (const Shape& other : parts) {
        const Tensor x = quarters(whole, dtype, 1), y = quarters(part, dtype, 2),
                     z = quarters(other, float32, 3);
        compare(empty(whole, dtype), describe(y) + ", " + describe(z),
                [&](const Backend& b, const Tensor& result) {
                  b.elementwise(kFused, std::array{x, y, z}, result, kParameters);
                });
      }
}

// Long enough that loops which work in chunks start one in the middle of a dimension.
TEST_P(EveryBackend, ElementwiseOverManyShortRows) {
  const Shape whole{20, 70, 32};
  const Tensor x = quarters(whole, bfloat16, 1), y = quarters({32}, bfloat16, 2),
               z = quarters({70, 1}, float32, 3);
  compare(empty(whole), "short rows", [&](const Backend& b, const Tensor& result) {
    b.elementwise(kFused, std::array{x, y, z}, result, kParameters);
  });
}

TEST_P(EveryBackend, ElementwiseInPlace) {
  for (const Shape& shape : kShapes)
    for (const DType dtype : {float32, float16, float8_e4m3fn})
      for (const Layout layout : kLayouts) {
        const Tensor x = quarters(shape, dtype, 1), z = quarters(Shape(), float32, 3);
        compare(quarters(shape, dtype, 2, layout), describe(x), [&](const Backend& b, const Tensor& result) {
          b.elementwise(kFused, std::array{x, result, z}, result, kParameters);
        });
      }
}

TEST_P(EveryBackend, ElementwiseWithoutInputsFills) {
  constexpr Formula kFill = formula<0>([](const auto* p) { return p[0]; });
  compare(empty({70000}, bfloat16), "fill",
          [&](const Backend& b, const Tensor& result) { b.elementwise(kFill, {}, result, kParameters); });
}

// Reads its row twice, so that writing too early shows; uses the row's number and a row that serves all.
constexpr RowFormula kRows = row_formula([]<class Real>(const Rows<Real>& r) {
  Real sum = 0;
  for (std::size_t i = 0; i < r.out[0].size(); ++i) r.out[0][i] = r.in[0][i] * r.in[1][i];
  for (const Real value : r.in[0]) sum += value;
  r.out[1][0] = sum + static_cast<Real>(r.row) * r.parameters[0];
});

TEST_P(EveryBackend, RowwiseOverFormatsLayoutsAndWidths) {
  for (const Shape& shape :
       {Shape{1}, Shape{5}, Shape{3, 10}, Shape{2, 3, 1030}, Shape{2, 5000}, Shape{6, 40, 33}})
    for (const DType dtype : {float32, bfloat16, float8_e4m3fn, float64})
      for (const Layout in : kLayouts)
        for (const Layout out : kLayouts) {
          if (shape.count() > 2000 && in != out) continue;
          Shape narrow = shape;
          narrow[-1] = 1;
          const Tensor x = quarters(shape, dtype, 1, in), weight = quarters({shape[-1]}, dtype, 2),
                       sums = in_layout(narrow, float32, out);
          for (const bool second : {false, true}) {
            compare(second ? sums : in_layout(shape, dtype, out), describe(x),
                    [&](const Backend& b, const Tensor& result) {
                      const Tensor results[] = {second ? in_layout(shape, dtype, out) : result,
                                                second ? result : clone(sums)};
                      b.rowwise(kRows, std::array{x, weight}, results, kParameters);
                    });
          }
        }
}

TEST_P(EveryBackend, RowwiseInPlace) {
  constexpr RowFormula kScan = row_formula([]<class Real>(const Rows<Real>& r) {
    for (Real& y : r.out[0]) y = 0;
    for (std::size_t i = 0; i < r.in[0].size(); ++i) r.out[0][i / 2] += r.in[0][i];
  });
  for (const DType dtype : {float32, bfloat16})
    compare(quarters({50, 20}, dtype, 1), "in place", [&](const Backend& b, const Tensor& result) {
      b.rowwise(kScan, std::array{result}, std::array{result});
    });
}

TEST_P(EveryBackend, ReduceOverEverySubsetOfAxes) {
  for (const Shape& shape :
       {Shape{1}, Shape{3, 5, 4}, Shape{2, 3, 2, 5}, Shape{70, 3, 35}, Shape{2, 300, 300}})
    for (const DType dtype : {float32, bfloat16, float8_e5m2, float64, int32})
      for (const Layout layout : kLayouts) {
        if (shape.count() > 10000 && (dtype == float64 || dtype == int32 || layout == Layout::offset))
          continue;
        const Tensor x = quarters(shape, dtype, 1, layout);
        for (int axes = 0; axes < 1 << shape.rank(); ++axes) {
          Shape kept = shape;
          for (int axis = 0; axis < shape.rank(); ++axis)
            if ((axes >> axis & 1) != 0) kept[axis] = 1;
          const std::string what = describe(x) + " to " + to_string(kept);
          compare(quarters(kept, float32, 2), "sum " + what,
                  [&](const Backend& b, const Tensor& y) { b.reduce(Reduction::sum, x, y, 0.25, true); });
          compare(empty(kept, dtype), "max " + what,
                  [&](const Backend& b, const Tensor& y) { b.reduce(Reduction::max, x, y); });
        }
      }
}

TEST_P(EveryBackend, ReduceIntoEveryFormatAndLayout) {
  const Tensor x = quarters({6, 50, 7}, float16, 1);
  for (const DType dtype : {float32, bfloat16, float8_e4m3fn, float64, int32})
    for (const Layout layout : kLayouts)
      for (const bool accumulate : {false, true})
        compare(quarters({6, 1, 7}, dtype, 2, layout), std::string(dtype.name()),
                [&](const Backend& b, const Tensor& y) { b.reduce(Reduction::sum, x, y, 1, accumulate); });
}

// 2^24 + 1 is no float32.
TEST_P(EveryBackend, WholeNumbersAreAddedExactly) {
  constexpr Formula kAdd = formula<2>([](auto x, auto y) { return x + y; });
  const Tensor odd = from_values({0x1000001, -0x1000000}, int32), rounds = full({2}, 0x1000000, float32);
  const Tensor differences = empty({2}, float32), sum = empty({1}, float32);
  backend().elementwise(formula<2>([](auto x, auto y) { return x - y; }), std::array{odd, rounds},
                        differences);
  EXPECT_EQ(differences.to_vector(), (std::vector<double>{1, -0x2000000}));
  backend().reduce(Reduction::sum, odd, sum);
  EXPECT_EQ(sum.item(), 1);
  for (const DType dtype : {int32, int64}) {
    const Tensor x = full({3, 5}, 0x1000001, dtype), y = zeros({5}, dtype);
    const Tensor sums = empty({3, 5}, dtype), total = empty({3, 1}, dtype), largest = empty({3, 1}, dtype);
    backend().elementwise(kAdd, std::array{x, y}, sums);
    EXPECT_EQ(sums.to_vector(), std::vector<double>(15, 0x1000001)) << dtype.name();
    backend().reduce(Reduction::sum, x, total);
    EXPECT_EQ(total.to_vector(), std::vector<double>(3, 5 * 0x1000001)) << dtype.name();
    backend().reduce(Reduction::max, x, largest);
    EXPECT_EQ(largest.to_vector(), std::vector<double>(3, 0x1000001)) << dtype.name();
  }
}

TEST_P(EveryBackend, CopyBetweenEveryPairOfFormats) {
  for (const Format& from : kFormats)
    for (const Format& to : kFormats)
      for (const Shape& shape : {Shape(), Shape{5}, Shape{3, 7}, Shape{40, 70}, Shape{3, 1, 45, 50}})
        for (const Layout layout : kLayouts) {
          const Tensor x = quarters(shape, DType(&from), 1, layout);
          for (const Layout target : {Layout::contiguous, layout})
            compare(in_layout(shape, DType(&to), target), describe(x) + " to " + std::string(to.name),
                    [&](const Backend& b, const Tensor& y) { b.copy(x, y); });
        }
}

TEST_P(EveryBackend, GatherAndScatterAdd) {
  const Tensor indices = from_values({4, 0, 4, 4, 2, 0, 8}, int32);
  for (const std::int64_t width : {1, 5, 70, 1500})
    for (const DType table_format : {float32, bfloat16, float64, int64})
      for (const DType format : {float32, table_format, float8_e5m2})
        for (const Layout layout : kLayouts) {
          const Tensor table = quarters({9, width}, table_format, 1, layout);
          const std::string what = describe(table) + " and " + std::string(format.name());
          compare(in_layout({7, width}, format, layout), "gather " + what,
                  [&](const Backend& b, const Tensor& rows) { b.gather(table, indices, rows); });
          const Tensor rows = quarters({7, width}, format, 2, layout);
          compare(table, "scatter_add " + what,
                  [&](const Backend& b, const Tensor& sums) { b.scatter_add(sums, indices, rows); });
        }
}

TEST_P(EveryBackend, AnIndexOutOfRangeIsRefusedBeforeAnythingIsWritten) {
  const Tensor table = quarters({3, 4}, float32, 1), before = clone(table),
               rows = quarters({2, 4}, float32, 2), rows_before = clone(rows);
  for (const double bad : {3.0, -1.0}) {
    const Tensor indices = from_values({0, bad}, int32);
    EXPECT_THROW(backend().gather(table, indices, rows), ValueError);
    EXPECT_THROW(backend().scatter_add(table, indices, rows), ValueError);
  }
  expect_same(table, before, "table");
  expect_same(rows, rows_before, "rows");
}

TEST_P(EveryBackend, Matmul) {
  for (const DType dtype : kFloating)
    for (const DType out : {float32, dtype})
      for (const Layout layout : {Layout::contiguous, Layout::transposed})
        for (const bool accumulate : {false, true}) {
          if (accumulate && out != float32) continue;
          const Tensor a = quarters({9, 21}, dtype, 1, layout), b = quarters({21, 13}, dtype, 2, layout);
          const Tensor bias = accumulate ? Tensor() : quarters({13}, float32, 3);
          compare(quarters({9, 13}, out, 4), describe(a), [&](const Backend& backend, const Tensor& c) {
            backend.matmul({.a = a, .b = b, .c = c, .bias = bias, .accumulate = accumulate});
          });
        }
}

TEST_P(EveryBackend, BatchedMatmul) {
  for (const DType dtype : {float32, bfloat16, float16, float64}) {
    const Tensor a = quarters({2, 3, 5, 8}, dtype, 1), b = quarters({2, 3, 8, 4}, dtype, 2),
                 shared = quarters({8, 4}, dtype, 3);
    for (const Tensor& right : {b, shared})
      compare(empty({2, 3, 5, 4}, dtype), describe(right), [&](const Backend& backend, const Tensor& c) {
        backend.matmul({.a = a, .b = right, .c = c, .bias = Tensor()});
      });
  }
}

TEST_P(EveryBackend, ConvolutionAndItsGradients) {
  for (const DType dtype : {float32, bfloat16, float16, float8_e4m3fn, float64})
    for (const int stride : {1, 2})
      for (const int padding : {0, 1}) {
        const std::int64_t height = (7 + 2 * padding - 3) / stride + 1,
                           width = (6 + 2 * padding - 3) / stride + 1;
        const Tensor image = quarters({2, 7, 6, 3}, dtype, 1), filter = quarters({4, 3, 3, 3}, dtype, 2),
                     result = quarters({2, height, width, 4}, dtype, 3), bias = quarters({4}, float32, 4);
        const std::string what = fmt::format("{} stride {} padding {}", dtype.name(), stride, padding);
        const auto call = [&](const Tensor& x, const Tensor& f, const Tensor& b, const Tensor& y,
                              bool accumulate) {
          return Convolution{x, f, b, y, stride, padding, accumulate};
        };
        for (const Tensor& added : {bias, Tensor()})
          compare(empty(result.shape(), dtype), what, [&](const Backend& b, const Tensor& y) {
            b.convolution(call(image, filter, added, y, false));
          });
        compare(empty(image.shape(), dtype), "image gradient " + what,
                [&](const Backend& b, const Tensor& dx) {
                  b.convolution_image_gradient(call(dx, filter, Tensor(), result, false));
                });
        for (const bool accumulate : {false, true})
          compare(quarters(filter.shape(), float32, 5), "filter gradient " + what,
                  [&](const Backend& b, const Tensor& df) {
                    b.convolution_filter_gradient(call(image, df, Tensor(), result, accumulate));
                  });
      }
}

std::vector<const Backend*> others() {
  std::vector<const Backend*> list(backends().begin(), backends().end());
  std::erase(list, &reference());
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, EveryBackend, ::testing::ValuesIn(others()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace halftone
