// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "halftone/data.h"
#include "halftone/parallel.h"

namespace halftone::data {
namespace {

using ::testing::ElementsAre;

// Image i has the pixels 10 i + 0, 1, 2, 3, 4, 5 and the label i.
ImageSet numbered(std::int64_t count) {
  ImageSet set{empty({count, 2, 3}, uint8), empty({count}, uint8)};
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t p = 0; p < 6; ++p)
      set.images.mutable_data<std::uint8_t>()[i * 6 + p] = static_cast<std::uint8_t>(10 * i + p);
    set.labels.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  }
  return set;
}

TEST(Sampling, AnEpochVisitsEveryImageOnce) {
  std::vector<std::int32_t> order = shuffled(1000, 7, 3);
  std::vector<std::int32_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_NE(order, all);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, all);
}

TEST(Sampling, TheOrderIsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(shuffled(100, 1, 2), shuffled(100, 1, 2));
  EXPECT_NE(shuffled(100, 1, 2), shuffled(100, 1, 3));
  EXPECT_NE(shuffled(100, 1, 2), shuffled(100, 2, 2));
  EXPECT_TRUE(shuffled(0, 1, 2).empty());
  EXPECT_THROW(shuffled(-1, 1, 2), ValueError);
  EXPECT_THROW(shuffled(std::int64_t{1} << 31, 1, 2), ValueError);
}

TEST(Sampling, ABatchHoldsTheChosenImagesNormalised) {
  const Batch batch = gather_images(numbered(5), {4, 0, 3, 1}, 1, 3);
  EXPECT_EQ(batch.inputs.shape(), (Shape{2, 2, 3, 1}));
  EXPECT_EQ(batch.inputs.dtype(), float32);
  EXPECT_EQ(batch.targets.dtype(), int32);
  EXPECT_THAT(batch.targets.to_vector(), ElementsAre(0, 3));
  const std::vector<double> values = batch.inputs.to_vector();
  for (int i = 0; i < 12; ++i) {
    const int pixel = i < 6 ? i : 30 + i - 6;
    EXPECT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>((pixel / 255.0 - 0.2860) / 0.3530))
        << i;
  }
}

TEST(Sampling, ABatchIsTheSameOnAnyNumberOfThreads) {
  const ImageSet set = numbered(25);
  const std::vector<std::int32_t> order = shuffled(25, 1, 1);
  const int threads = thread_count();
  set_thread_count(1);
  const Batch one = gather_images(set, order, 0, 25);
  set_thread_count(2);
  const Batch two = gather_images(set, order, 0, 25);
  set_thread_count(threads);
  EXPECT_EQ(one.inputs.to_vector(), two.inputs.to_vector());
  EXPECT_EQ(one.targets.to_vector(), two.targets.to_vector());
}

TEST(Sampling, ARangeOrAnImageThatIsNotThereIsRefused) {
  const ImageSet set = numbered(3);
  EXPECT_THROW(gather_images(set, {0, 1}, 1, 3), ValueError);
  EXPECT_THROW(gather_images(set, {0, 1}, -1, 1), ValueError);
  EXPECT_THROW(gather_images(set, {0, 1}, 2, 1), ValueError);
  EXPECT_THROW(gather_images(set, {0, 3}, 0, 2), ValueError);
  EXPECT_THROW(gather_images(set, {0, -1}, 0, 2), ValueError);
  EXPECT_EQ(gather_images(set, {0, 1}, 1, 1).targets.count(), 0);
}

}  // namespace
}  // namespace halftone::data
