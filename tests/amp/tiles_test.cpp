// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <mutex>

#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kCount = 20000;  // 19 whole tiles and a part

// Adds the gradient to a state of the parameter's shape, 1 to every element of a state of another shape.
struct Adding : Optimizer {
  Adding(std::vector<Parameter> parameters, MasterWeights master, DType state)
      : Optimizer(std::move(parameters), master) {
    keep_state(0, 0, "sum", this->parameters()[0].value.shape(), state);
    keep_state(0, 2, "all", {3}, float32);
  }
  void prepare(std::size_t index, const Tensor& gradient, float gradient_scale) override {
    seen.assign(static_cast<std::size_t>(kCount), 0);
    read_tiles(index, gradient, gradient_scale, [&](const Tile& t) {
      for (std::int64_t i = 0; i < t.count; ++i)
        seen[static_cast<std::size_t>(t.begin + i)] = t.weights[i] + t.gradient_scale * t.gradient[i];
      t.weights[0] += spoil;  // seen by nobody where weights are decoded
    });
  }
  void rule(std::size_t, const Tile& t) override {
    EXPECT_LE(t.count, Tile::kSize);
    EXPECT_EQ(t.state[1], nullptr);
    for (std::int64_t i = 0; i < t.count; ++i) t.state[0][i] += t.gradient_scale * t.gradient[i];
    const std::lock_guard lock(mutex);
    t.state[2][1] += static_cast<float>(t.count);
  }
  std::vector<double> seen;
  float spoil = 0;
  std::mutex mutex;
};

Tensor state_of(const Optimizer& optimizer, std::string_view name) {
  for (const Parameter& entry : optimizer.state())
    if (entry.name == name) return entry.value;
  return {};
}

TEST(Tiles, CoverAParameterOnceAndHandOutItsState) {
  for (const DType dtype : {float32, bfloat16})
    for (const DType state : {float32, bfloat16, float16, float8_e5m2}) {
      Tensor w = random_normal({kCount}, 1, 1, dtype).set_requires_grad();
      Adding optimizer({{"w", w}}, MasterWeights::none, state);
      sum(w).backward();
      const std::vector<double> before = w.to_vector();
      const Tensor kept = state_of(optimizer, "sum.w");
      EXPECT_EQ(kept.dtype(), state);
      const std::uint64_t version = kept.version();
      optimizer.step(2);
      optimizer.step(2);
      EXPECT_EQ(kept.version(), version + 2);
      EXPECT_EQ(kept.to_vector(), std::vector<double>(kCount, 4));  // exact in all of these formats
      EXPECT_EQ(state_of(optimizer, "all.w").to_vector(), (std::vector<double>{0, 2 * kCount, 0}));
      EXPECT_EQ(w.to_vector(), before);
      for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_EQ(optimizer.seen[i], static_cast<float>(before[i]) + 2.0f);
    }
}

TEST(Tiles, WhatAReaderDoesToADecodedTileIsThrownAway) {
  Tensor w = ones({kCount}, bfloat16).set_requires_grad();
  Adding optimizer({{"w", w}}, MasterWeights::none, float32);
  optimizer.spoil = 100;
  sum(w).backward();
  optimizer.step();
  EXPECT_EQ(w.to_vector(), std::vector<double>(kCount, 1));
}

TEST(Tiles, StateIsRoundedWithRandomNumbersOfItsOwn) {
  // 1.001 lies between two bfloat16: which one it becomes differs by element and by step, the mean does not.
  Tensor w = ones({kCount}).set_requires_grad();
  Adding optimizer({{"w", w}}, MasterWeights::none, bfloat16);
  const auto rounded = [&](float gradient) {
    optimizer.zero_grad();
    scale(sum(w), gradient).backward();
    optimizer.step();
    return state_of(optimizer, "sum.w").to_vector();
  };
  const std::vector<double> first = rounded(1.001f);
  double mean = 0, up = 0;
  for (const double x : first) {
    mean += x / kCount;
    up += x > 1;
    EXPECT_TRUE(x == 1 || x == 1.0078125) << x;
  }
  EXPECT_NEAR(mean, 1.001, 5 * 0.0026 / std::sqrt(kCount));
  EXPECT_GT(up, 0);
  const std::vector<double> second = rounded(0.001f);
  std::vector<double> other_step(kCount), as_before(kCount);
  for (std::size_t i = 0; i < kCount; ++i) other_step[i] = second[i] - first[i], as_before[i] = first[i] - 1;
  EXPECT_NE(other_step, as_before);
}

TEST(Tiles, StateOfAnotherShapeIsFloat32) {
  struct Wrong : Adding {
    Wrong(Tensor w) : Adding({{"w", w}}, MasterWeights::none, float32) {
      keep_state(0, 1, "x", {4}, bfloat16);
    }
  };
  EXPECT_THROW(Wrong(leaf({1})), DTypeError);
}

}  // namespace
}  // namespace halftone::amp
