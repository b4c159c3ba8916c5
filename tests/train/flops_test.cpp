// SPDX-License-Identifier: Apache-2.0
#include "train/flops.h"

#include <gtest/gtest.h>

namespace halftone::train {
namespace {

TEST(Flops, AProductIsCountedThreeTimes) {
  const Product products[] = {{2, 3, 5}, {7, 1, 11}};
  EXPECT_EQ(training_flops(products), 3 * 2 * 30 + 3 * 2 * 77);
  EXPECT_EQ(training_flops({}), 0);
}

// GPT-3 (Brown et al. 2020, table D.1): 175 B parameters, 300 B tokens, 3.14e23 FLOPs, attention not counted.
TEST(Flops, AgreesWithWhatIsPublished) {
  EXPECT_NEAR(transformer_flops(174'600'000'000, 0, 0, 0) * 300e9 / 3.14e23, 1, 0.005);
  // PaLM 540B: 118 layers, 48 heads of 256, context 2048: attention adds 1.1 %.
  const double with = transformer_flops(540'000'000'000, 118, 48 * 256, 2048);
  const double without = transformer_flops(540'000'000'000, 0, 0, 0);
  EXPECT_EQ(with - without, 12.0 * 118 * 12288 * 2048);
  EXPECT_NEAR(with / without, 1.011, 0.0005);
}

}  // namespace
}  // namespace halftone::train
