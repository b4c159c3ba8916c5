// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/tensor.h"

namespace halftone {
namespace {

TEST(Print, ShowsFormatShapeAndTheFirstElements) {
  EXPECT_EQ(to_string(from_values({1, 2.5}, bfloat16)), "bfloat16 (2) [1, 2.5]");
  EXPECT_EQ(to_string(zeros({3, 3})), "float32 (3, 3) [0, 0, 0, 0, 0, 0, 0, 0, ...]");
  EXPECT_EQ(to_string(Tensor()), "undefined tensor");
}

}  // namespace
}  // namespace halftone
