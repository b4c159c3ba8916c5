// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& cpu() { return find_backend("cpu"); }

constexpr RowFormula kNormalise = row_formula([]<class Real>(const Rows<Real>& r) {
  Real sum = 0;
  for (const Real x : r.in[0]) sum += x * x;
  for (std::size_t i = 0; i < r.in[0].size(); ++i) r.out[0][i] = r.in[0][i] / (1 + sum) * r.in[1][i];
});

TEST(CpuRowwise, ThreadsAndSimdLevelsDoNotChangeABit) {
  for (const Shape& shape : {Shape{3000, 17}, Shape{5, 9, 1500}})
    for (const DType dtype : kFloating) {
      const Tensor x = random_normal(shape, 1, 0, dtype), w = random_normal({shape[-1]}, 2, 0, dtype);
      expect_the_same_bits_everywhere(
          [&] {
            const Tensor result = empty(shape, dtype);
            cpu().rowwise(kNormalise, std::array{x, w}, std::array{result});
            return result;
          },
          std::string(dtype.name()));
    }
}

TEST(CpuRowwise, EveryRowKnowsItsNumber) {
  constexpr RowFormula kNumber =
      row_formula([]<class Real>(const Rows<Real>& r) { r.out[0][0] = static_cast<Real>(r.row); });
  const Tensor y = empty({50000, 1});
  cpu().rowwise(kNumber, {}, std::array{y});
  const std::vector<double> values = y.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i));
}

TEST(CpuRowwise, Float32RowsAreUsedWhereTheyLie) {
  static const void* seen = nullptr;
  constexpr RowFormula kLook = row_formula([]<class Real>(const Rows<Real>& r) {
    seen = r.in[0].data();
    r.out[0][0] = 0;
  });
  const Tensor x = ones({1, 9}), y = empty({1, 1});
  cpu().rowwise(kLook, std::array{x}, std::array{y});
  EXPECT_EQ(seen, x.raw());
}

}  // namespace
}  // namespace halftone
