// SPDX-License-Identifier: Apache-2.0
#include "op/cast_cache.h"

#include <gtest/gtest.h>

#include "halftone/amp.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(CastCache, AParameterIsCastOncePerVersion) {
  Tensor w = ones({2, 2}).set_requires_grad();
  const Tensor a = cast_operand(w, float16), b = cast_operand(w, float16);
  EXPECT_EQ(a.raw(), b.raw());
  no_grad([&] { add_(w, ones({2, 2})); });
  EXPECT_EQ(cast_operand(w, float16).to_vector()[0], 2) << "a stale copy was used";
  EXPECT_EQ(w.storage()->casts.size(), 1U);
  release_autocast_casts();
  EXPECT_TRUE(w.storage()->casts.empty());
}

TEST(CastCache, OtherTensorsAreNotCached) {
  const Tensor x = ones({2, 2});
  EXPECT_NE(cast_operand(x, float16).raw(), cast_operand(x, float16).raw());
  EXPECT_TRUE(x.storage()->casts.empty());
  EXPECT_EQ(cast_operand(x, float32).raw(), x.raw()) << "nothing to do";
}

TEST(CastCache, AnUpdateInsideARegionIsSeen) {
  const Tensor w = ones({1, 1}).set_requires_grad(), x = ones({1, 1});
  amp::autocast(bfloat16, [&] {
    EXPECT_EQ(matmul(x, w).item(), 1);
    no_grad([&] { add_(w, ones({1, 1})); });
    EXPECT_EQ(matmul(x, w).item(), 2);
  });
}

TEST(CastCache, AForwardWithoutGradientsDoesNotSpoilALaterOne) {
  const Tensor w = ones({1, 1}).set_requires_grad(), x = ones({1, 1});
  amp::autocast(float16, [&] {
    no_grad([&] { return matmul(x, w); });
    return sum(matmul(x, w));
  }).backward();
  EXPECT_EQ(w.grad().item(), 1);
}

TEST(CastCache, ViewsOfAWeightLeaveNothingBehind) {
  const Tensor w = ones({8, 8}).set_requires_grad(), x = ones({1, 8});
  const auto before = memory_stats().in_use;
  amp::autocast(bfloat16, [&] {
    for (int i = 0; i < 1000; ++i) {
      no_grad([&] { return matmul(x, transpose(w, 0, 1)); });
      ASSERT_LE(w.storage()->casts.size(), 1U);
    }
  });
  EXPECT_TRUE(w.storage()->casts.empty());
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(CastCache, AViewUsesTheCopyOfItsParameter) {
  const Tensor w = from_values(std::vector<double>{1, 2, 3, 4}, {2, 2}).set_requires_grad();
  const Tensor whole = cast_operand(w, float16), view = cast_operand(transpose(w, 0, 1), float16);
  EXPECT_EQ(view.storage(), whole.storage());
  EXPECT_EQ(view.to_vector(), (std::vector<double>{1, 3, 2, 4}));
  release_autocast_casts();
}

}  // namespace
}  // namespace halftone
