// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/random.h"
#include "halftone/tensor.h"

namespace halftone {
namespace {

TEST(Factory, ValuesAreRoundedOnceFromDouble) {
  // 1 + 2^-11 + 2^-40 lies above the midpoint of two float16 values; through float32 it would fall on it.
  EXPECT_EQ(full({1}, 1 + 0x1p-11 + 0x1p-40, float16).data<std::uint16_t>()[0], 0x3C01);
  EXPECT_EQ(full({1}, 257, bfloat16).item(), 256);
  EXPECT_EQ(from_values({1, -2.5, 3}, int32).to_vector(), (std::vector<double>{1, -2, 3}));
}

TEST(Factory, AsManyValuesAsElements) {
  EXPECT_THROW(from_values(std::vector<double>{1, 2}, {3}), ShapeError);
}

TEST(Factory, ElementIIsNumberIOfTheStream) {
  const Tensor u = random_uniform({100}, -1, 3, 9, 4), n = random_normal({10}, 9, 5);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(u.data<float>()[i], -1 + 4 * random_uniform_at(9, 4, static_cast<std::uint64_t>(i)));
  EXPECT_EQ(n.data<float>()[7], random_normal_at(9, 5, 7));
}

TEST(Factory, ZeroIsZeroInEveryFormat) {
  for (const Format& row : kFormats)
    if (row.has_zero) {
      EXPECT_EQ(zeros({1}, DType(&row)).item(), 0) << row.name;
    }
}

TEST(Factory, AFormatWithoutZeroHasNoZeros) {
  EXPECT_THROW(zeros({1}, float8_e8m0fnu), DTypeError);
  EXPECT_EQ(ones({1}, float8_e8m0fnu).item(), 1);
}

}  // namespace
}  // namespace halftone
