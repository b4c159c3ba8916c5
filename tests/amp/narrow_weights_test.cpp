// SPDX-License-Identifier: Apache-2.0
#include "amp/narrow_weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/error.h"
#include "halftone/random.h"
#include "halftone/tensor.h"

namespace halftone::amp {
namespace {

Parameter weights_of(const Shape& shape, DType dtype) { return {"w", full(shape, 1, dtype)}; }

TEST(NarrowWeights, TrailingBitsKeepEveryFloat32) {
  constexpr std::int64_t kCount = 1 << 16;
  const Parameter w = weights_of({kCount}, bfloat16);
  const NarrowWeights split(w, MasterWeights::trailing_bits);
  EXPECT_EQ(split.extra_name(), "trailing");
  EXPECT_EQ(split.extra().bytes(), 2 * kCount);
  std::vector<float> values(kCount), back(kCount), near(kCount);
  Conversion away;
  away.rounding = Rounding::nearest_away;
  for (std::uint32_t high : {0x0000u, 0x3F80u, 0xBF7Fu, 0x7F7Fu, 0xFF80u, 0x007Fu, 0x8001u}) {
    for (std::uint32_t low = 0; low < kCount; ++low) values[low] = std::bit_cast<float>(high << 16 | low);
    if (high == 0xFF80) values.assign(kCount, -std::numeric_limits<float>::infinity());
    split.store(0, kCount, values.data(), {});
    split.load(0, kCount, back.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(values[i]));
    // What a forward pass sees is the nearest bfloat16.
    for (std::size_t i = 0; i < values.size(); i += 97)
      ASSERT_EQ(load_code(bfloat16, w.value.raw(), static_cast<std::int64_t>(i)),
                encode(bfloat16.format(), static_cast<double>(values[i]), away));
  }
  values.assign(kCount, std::bit_cast<float>(0x7FFFFFFFu));
  split.store(0, kCount, values.data(), {});
  split.load(0, kCount, back.data());
  EXPECT_TRUE(std::isnan(back[5]));
  EXPECT_TRUE(std::isnan(w.value.to_vector()[5]));
}

TEST(NarrowWeights, TrailingBitsNeedTheLeadingOnes) {
  EXPECT_THROW(NarrowWeights(weights_of({2}, float16), MasterWeights::trailing_bits), DTypeError);
}

TEST(NarrowWeights, CompensationKeepsWhatRoundingTook) {
  const Parameter w = weights_of({1500}, bfloat16);
  const NarrowWeights kahan(w, MasterWeights::compensated);
  EXPECT_EQ(kahan.extra_name(), "compensation");
  std::vector<float> values(1500);
  // 1000 times -1e-3 from 1: bfloat16 alone stays at 1.
  for (int step = 0; step < 1000; ++step) {
    kahan.load(0, 1500, values.data());
    for (float& v : values) v -= 1e-3f;
    kahan.store(0, 1500, values.data(), {});
  }
  kahan.load(0, 1500, values.data());
  for (float v : values) EXPECT_NEAR(v, 0, 2e-3);
}

TEST(NarrowWeights, StochasticUpdatesAreRightOnAverage) {
  constexpr std::int64_t kCount = 10000;
  const Parameter w = weights_of({kCount}, bfloat16);
  const NarrowWeights stochastic(w, MasterWeights::stochastic);
  EXPECT_FALSE(stochastic.extra());
  std::vector<float> values(kCount);
  for (std::uint64_t step = 0; step < 1000; ++step) {
    stochastic.load(0, kCount, values.data());
    for (float& v : values) v -= 1e-3f;
    stochastic.store(0, kCount, values.data(), {1, streams::rounding, step * kCount});
  }
  stochastic.load(0, kCount, values.data());
  double mean = 0, square = 0;
  for (float v : values) mean += v, square += v * v;
  mean /= kCount;
  EXPECT_NEAR(mean, 0, 5 * 0.041 / std::sqrt(kCount));  // the spread of one weight is about 0.041
  EXPECT_NEAR(std::sqrt(square / kCount), 0.041, 0.005);
}

TEST(NarrowWeights, NothingBesideTheWeightLosesSmallUpdates) {
  const Parameter w = weights_of({4}, bfloat16);
  const NarrowWeights plain(w, MasterWeights::none);
  std::vector<float> values(4);
  for (int step = 0; step < 1000; ++step) {
    plain.load(0, 4, values.data());
    for (float& v : values) v -= 1e-3f;
    plain.store(0, 4, values.data(), {});
  }
  EXPECT_EQ(w.value.to_vector(), std::vector<double>(4, 1.0));
}

TEST(NarrowWeights, PiecesGiveTheBitsOfTheWhole) {
  for (const MasterWeights master :
       {MasterWeights::stochastic, MasterWeights::compensated, MasterWeights::trailing_bits}) {
    const Parameter whole = weights_of({5000}, bfloat16), parts = weights_of({5000}, bfloat16);
    const NarrowWeights a(whole, master), b(parts, master);
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_normal_at(1, 2, i);
    a.store(0, 5000, values.data(), {1, 7, 0});
    for (std::int64_t begin = 0; begin < 5000; begin += 777) {
      const std::int64_t count = std::min<std::int64_t>(777, 5000 - begin);
      b.store(begin, count, values.data() + begin, {1, 7, static_cast<std::uint64_t>(begin)});
    }
    EXPECT_EQ(whole.value.to_vector(), parts.value.to_vector());
    std::vector<float> from_a(5000), from_b(5000);
    a.load(0, 5000, from_a.data());
    b.load(0, 5000, from_b.data());
    EXPECT_EQ(from_a, from_b);
  }
}

}  // namespace
}  // namespace halftone::amp
