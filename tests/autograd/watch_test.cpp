// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(NonFiniteWatch, NamesTheOpThatOverflowedFirstAndItsLayer) {
  // 257 * 256 = 65792 is beyond float16; what follows only passes the infinity on.
  const Tensor w = full({1, 256}, 257).set_requires_grad();
  set_name(w, "feed_forward.weight");
  const NonFiniteWatch watch;
  amp::autocast(float16, [&] { relu(linear(ones({3, 256}), w)); });
  ASSERT_TRUE(watch.first());
  EXPECT_EQ(watch.first()->op, "linear");
  EXPECT_EQ(watch.first()->direction, "forward");
  EXPECT_EQ(watch.first()->layer, "feed_forward.weight");
  EXPECT_EQ(watch.first()->infinities, 3);
  EXPECT_EQ(watch.first()->describe(), "linear forward near feed_forward.weight: 3 infinities, 0 NaNs");
}

TEST(NonFiniteWatch, SeesGradientsToo) {
  const Tensor x = from_values({0}).set_requires_grad();
  const NonFiniteWatch watch;
  sum(scale(log(x + ones({1})), 1)).backward();
  EXPECT_FALSE(watch.first());
  log(div(x, ones({1})) + full({1}, 1e-30)).backward();
  EXPECT_FALSE(watch.first());
  div(ones({1}), x + full({1}, 1e-30)).backward();  // -1 / x^2 = -1e60
  ASSERT_TRUE(watch.first());
  EXPECT_EQ(watch.first()->op, "div");
  EXPECT_EQ(watch.first()->direction, "backward");
}

TEST(NonFiniteWatch, EndsWithItsScopeAndNests) {
  const NonFiniteWatch outer;
  {
    const NonFiniteWatch inner;
    log(zeros({1}));
    EXPECT_TRUE(inner.first());
  }
  EXPECT_FALSE(outer.first());
  log(zeros({2}));
  EXPECT_EQ(outer.first()->infinities, 2);
}

TEST(NonFiniteWatch, SeesWhatIsAddedToAGradientThatIsThere) {
  const Tensor x = full({1, 1}, 1e30), w = full({1, 1}, 1e-30).set_requires_grad();
  sum(linear(ones({1, 1}), w)).backward();
  const Tensor loss = sum(scale(linear(x, w), 1e30));  // dw = 1e30 x = 1e60
  const NonFiniteWatch watch;
  loss.backward();
  ASSERT_TRUE(watch.first());
  EXPECT_EQ(watch.first()->op, "linear");
  EXPECT_EQ(w.grad().item(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace halftone
