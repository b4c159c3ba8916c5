// SPDX-License-Identifier: Apache-2.0
#include "halftone/float_state.h"

#include <gtest/gtest.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

TEST(FloatState, RoundsToNearestInsideAndAsBeforeOutside) {
  volatile double one = 1, tiny = 0x1p-60;
  std::fesetround(FE_UPWARD);
  const double up = one + tiny;
  double inside = 0;
  {
    const DefaultFloatState state;
    inside = one + tiny;
  }
  const double after = one + tiny;
  std::fesetround(FE_TONEAREST);
  EXPECT_GT(up, 1);
  EXPECT_EQ(inside, 1);
  EXPECT_GT(after, 1);
}

#if defined(__SSE2__)
TEST(FloatState, KeepsSubnormalsInsideAndFlushesThemAgainOutside) {
  volatile float small = 1e-40f, one = 1;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u);
  float inside = 0;
  {
    const DefaultFloatState state;
    inside = small * one;
  }
  const float outside = small * one;
  const unsigned then = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(inside, 1e-40f);
  EXPECT_EQ(outside, 0.0f);
  EXPECT_EQ(then & 0x8040u, 0x8040u);
}
#endif

}  // namespace
}  // namespace halftone
