// SPDX-License-Identifier: Apache-2.0
//
// The kernels on operands and results of every layout and format: the same as on plain tensors, and nothing
// written beside the results. Their numbers are compared with the definition in tests/op/attend_test.cpp.
#include <gtest/gtest.h>

#include <any>
#include <array>

#include "backend/cpu/kernels.h"
#include "backend/kernel_options.h"
#include "backend/support.h"

namespace halftone::testing {
namespace {

const Shape kQueries{2, 4, 11, 8}, kKeyShape{2, 2, 70, 8};

struct Outcome {
  Tensor y, statistics, dq, dk, dv;
};

Outcome run(DType dtype, DType gradients, Layout layout, Layout results) {
  const Tensor q = quarters(kQueries, dtype, 1, layout), k = quarters(kKeyShape, dtype, 2, layout),
               v = quarters(kKeyShape, dtype, 3, layout), dy = quarters(kQueries, dtype, 4, layout),
               lengths({2}, int32);
  assign(lengths, {70, 65});
  Outcome r{in_layout(kQueries, dtype, results), Tensor({2, 4, 11, 2}, float32),
            in_layout(kQueries, gradients, results), in_layout(kKeyShape, gradients, results),
            in_layout(kKeyShape, gradients, results)};
  const std::any options = AttentionKernelOptions{true, 0.25};
  cpu::attention_forward({std::array{q, k, v, lengths}, std::array{r.y, r.statistics}, options});
  cpu::attention_backward(
      {std::array{q, k, v, lengths, r.y, r.statistics, dy}, std::array{r.dq, r.dk, r.dv}, options});
  return r;
}

// The values of `plain` in that layout, zeros in the gaps.
Tensor laid_out(const Tensor& plain, Layout layout) {
  const Tensor result = in_layout(plain.shape(), plain.dtype(), layout);
  assign(result, plain.to_vector());
  return result;
}

TEST(AttentionKernels, ReadAndWriteEveryLayout) {
  for (const DType dtype : kFloating)
    for (const DType gradients : {float32, dtype}) {
      const Outcome plain = run(dtype, gradients, Layout::contiguous, Layout::contiguous);
      for (const Layout layout : kLayouts)
        for (const Layout results : kLayouts) {
          const std::string what = std::string(dtype.name()) + ", layouts " +
                                   std::to_string(static_cast<int>(layout)) + " and " +
                                   std::to_string(static_cast<int>(results));
          const Outcome r = run(dtype, gradients, layout, results);
          expect_same(r.statistics, plain.statistics, what);
          expect_same(r.y, laid_out(plain.y, results), what);
          expect_same(r.dq, laid_out(plain.dq, results), what);
          expect_same(r.dk, laid_out(plain.dk, results), what);
          expect_same(r.dv, laid_out(plain.dv, results), what);
        }
    }
}

}  // namespace
}  // namespace halftone::testing
