// SPDX-License-Identifier: Apache-2.0
//
// Against the definition in double, on views of every kind.
#include <gtest/gtest.h>

#include "halftone/ops.h"
#include "op/examples.h"

namespace halftone {
namespace {

TEST(Rotary, TurnsViewsOfAnyFormatAsItTurnsPlainTensorsInDouble) {
  for (const DType dtype : {float32, bfloat16, float16, float8_e4m3fn})
    for (const std::int64_t width : {2, 6, 64, 80}) {
      // (batch, context, heads, width) seen as (batch, heads, context, width), and with gaps between
      // elements.
      const Tensor base = random_uniform({2, 300, 3, 2 * width}, -2, 2, 4, streams::example, dtype);
      const Shape shape{2, 3, 300, width}, by_row{1800 * width, 2 * width, 6 * width, 1},
          by_two{1800 * width, 2 * width, 6 * width, 2};
      for (const Shape& strides : {by_row, by_two}) {
        Tensor x = base.view(shape, strides, 0).set_requires_grad();
        const Tensor y = rotary(x, 10000, 11);
        EXPECT_EQ(y.strides(), (Shape{900 * width, width, 3 * width, 1})) << "the memory order of x";
        const Tensor exact =
            with_backend("reference", [&] { return rotary(cast(x, float64).detach(), 10000, 11); });
        expect_close(y, exact, dtype, dtype == float32 ? 4 : 1.5);
        // Turned back by its gradient.
        const Tensor dx = gradients(y, {x}, {}, y)[0];
        expect_close(dx, x, dtype, dtype == float32 ? 6 : 3);
      }
    }
}

}  // namespace
}  // namespace halftone
