// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/reduce.h"

#include <gtest/gtest.h>

#include <limits>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& cpu() { return find_backend("cpu"); }

TEST(CpuReduce, SeventyThousandOnesAreSeventyThousand) {
  for (const Format& format : kFormats) {
    const DType dtype(&format);
    const Tensor all = empty({1}), columns = empty({1, 3}), rows = empty({2, 1}), middle = empty({2, 1, 2});
    cpu().reduce(Reduction::sum, ones({70000}, dtype), all);
    cpu().reduce(Reduction::sum, ones({70000, 3}, dtype), columns);
    cpu().reduce(Reduction::sum, ones({2, 70000}, dtype), rows);
    cpu().reduce(Reduction::sum, ones({2, 70000, 2}, dtype), middle);
    for (const Tensor& sums : {all, columns, rows, middle})
      for (const double sum : sums.to_vector())
        EXPECT_EQ(sum, 70000) << format.name << " " << to_string(sums);
  }
}

TEST(CpuReduce, TheResultIsRoundedOnceIntoItsFormat) {
  const Tensor y = empty({1}, bfloat16), scaled = empty({1}, bfloat16);
  cpu().reduce(Reduction::sum, ones({1000}, bfloat16), y);
  EXPECT_EQ(y.item(), 1000);
  cpu().reduce(Reduction::sum, ones({1000}, bfloat16), scaled, 1.0 / 3);
  EXPECT_EQ(scaled.item(), 334);  // 333.33 between 332 and 334
}

TEST(CpuReduce, AccumulatingIntoANarrowTensorAddsInFloat32) {
  const Tensor y = full({1}, 256, bfloat16);
  cpu().reduce(Reduction::sum, full({3}, 0.5, bfloat16), y, 1, true);
  EXPECT_EQ(y.item(), 258);  // 257.5, which is a tie
}

TEST(CpuReduce, ASumOfNothingIsZeroAndAMaximumOfNothingMinusInfinity) {
  const Tensor none = empty({0, 3}), y = full({1, 3}, 5);
  cpu().reduce(Reduction::sum, none, y, 1, true);
  EXPECT_EQ(y.to_vector(), std::vector<double>(3, 5));
  cpu().reduce(Reduction::sum, none, y);
  EXPECT_EQ(y.to_vector(), std::vector<double>(3, 0));
  cpu().reduce(Reduction::max, none, y);
  EXPECT_EQ(y.to_vector(), std::vector<double>(3, -std::numeric_limits<double>::infinity()));
}

TEST(CpuReduce, ThreadsAndSimdLevelsDoNotChangeABit) {
  const std::pair<Shape, Shape> cases[] = {{{300007}, {1}},
                                           {{5001, 70}, {1, 70}},
                                           {{70, 5001}, {70, 1}},
                                           {{40, 300, 33}, {1, 300, 1}},
                                           {{40, 300, 33}, {40, 1, 33}},
                                           {{900, 3}, {1, 3}}};
  for (const auto& [from, to] : cases)
    for (const DType dtype : kFloating)
      for (const Reduction kind : {Reduction::sum, Reduction::max}) {
        const Tensor x = random_normal(from, 1, 0, dtype);
        const Shape& kept = to;
        expect_the_same_bits_everywhere(
            [&x, &kept, kind] {
              const Tensor y = empty(kept);
              cpu().reduce(kind, x, y, 0.1);
              return y;
            },
            std::string(dtype.name()) + " to " + to_string(to));
      }
}

}  // namespace
}  // namespace halftone
