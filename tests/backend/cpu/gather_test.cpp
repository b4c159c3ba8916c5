// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/support.h"

namespace halftone {
namespace {

using namespace halftone::testing;

const Backend& cpu() { return find_backend("cpu"); }

TEST(CpuGather, RowsArriveInTheOrderOfTheIndices) {
  const Tensor table = from_values({0, 1, 10, 11, 20, 21}).view({3, 2}, {2, 1}, 0);
  const Tensor rows = empty({4, 2}, bfloat16);
  cpu().gather(table, from_values({2, 0, 2, 1}, int32), rows);
  EXPECT_EQ(rows.to_vector(), (std::vector<double>{20, 21, 0, 1, 20, 21, 10, 11}));
}

TEST(CpuScatterAdd, SeventyThousandOnesInANarrowFormatReachTheirRow) {
  const Tensor table = zeros({2, 3}), indices = zeros({70000}, int32);
  cpu().scatter_add(table, indices, ones({70000, 3}, bfloat16));
  EXPECT_EQ(table.to_vector(), (std::vector<double>{70000, 70000, 70000, 0, 0, 0}));
}

TEST(CpuScatterAdd, ANarrowTableIsRoundedOnce) {
  const Tensor table = zeros({1, 2}, bfloat16);
  cpu().scatter_add(table, zeros({1000}, int32), ones({1000, 2}, bfloat16));
  EXPECT_EQ(table.to_vector(), (std::vector<double>{1000, 1000}));
}

TEST(CpuScatterAdd, ThreadsAndSimdLevelsDoNotChangeABit) {
  const std::int64_t count = 3000, width = 200;
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i * i % 17));
  const Tensor indices = from_values(numbers, {count}, int32),
               rows = random_normal({count, width}, 1, 0, float16);
  expect_the_same_bits_everywhere(
      [&] {
        const Tensor table = zeros({17, width});
        cpu().scatter_add(table, indices, rows);
        return table;
      },
      "scatter_add");
}

TEST(CpuGather, NoIndicesMakeNoRows) {
  const Tensor table = ones({3, 2}), rows = empty({0, 2});
  EXPECT_NO_THROW(cpu().gather(table, empty({0}, int32), rows));
  EXPECT_NO_THROW(cpu().scatter_add(table, empty({0}, int32), rows));
}

}  // namespace
}  // namespace halftone
