// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "halftone/backend.h"

namespace halftone {
namespace {

// Two outputs of different widths from a row of its own and one that serves all.
constexpr RowFormula kWeighted = row_formula([]<class Real>(const Rows<Real>& r) {
  r.out[1][0] = r.parameters[0] * static_cast<Real>(r.row);
  for (std::size_t i = 0; i < r.in[0].size(); ++i) {
    r.out[0][i] = r.in[0][i] * r.in[1][i];
    r.out[1][0] += r.out[0][i];
  }
});

TEST(ReferenceRowwise, RowsAreNumberedAndWrittenWithTheirOwnWidths) {
  const Tensor x = from_values({1, 2, 3, 4}).view({2, 2}, {1, 2}, 0);  // rows (1, 3) and (2, 4)
  const Tensor weight = from_values({1, 10}, float16), y = empty({2, 2}, bfloat16), sums = empty({2, 1});
  const double hundred = 100;
  find_backend("reference")
      .rowwise(kWeighted, std::array{x, weight}, std::array{y, sums}, std::span(&hundred, 1));
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1, 30, 2, 40}));
  EXPECT_EQ(sums.to_vector(), (std::vector<double>{31, 142}));
}

}  // namespace
}  // namespace halftone
