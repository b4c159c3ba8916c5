// SPDX-License-Identifier: Apache-2.0
//
// Sums of squares for rules that gather norms: in double, where no square of a float32 overflows, and in an
// order that depends on neither threads nor vector width.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "halftone/simd.h"
#include "optim/rule.h"

namespace halftone::optim {

struct SquareSum {
  static void run(std::int64_t count, const float* __restrict values, double* __restrict result) {
    constexpr std::int64_t kLanes = 16;
    double lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += static_cast<double>(values[i + lane]) * static_cast<double>(values[i + lane]);
    for (; i < count; ++i)
      lanes[i % kLanes] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2)
      for (std::int64_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
    *result = lanes[0];
  }
};

inline double square_sum(const float* values, std::int64_t count) {
  double sum = 0;
  at_simd_level<SquareSum>(count, values, &sum);
  return sum;
}

// Two sums over all tiles of a parameter, of what `of_tile` returns for each.
template <class OfTile>
std::array<double, 2> sums_over_tiles(const Subject& subject, const OfTile& of_tile) {
  const std::int64_t count = subject.shape.count();
  std::vector<std::array<double, 2>> parts(static_cast<std::size_t>((count + Tile::kSize - 1) / Tile::kSize));
  subject.read_tiles(
      [&](const Tile& tile) { parts[static_cast<std::size_t>(tile.begin / Tile::kSize)] = of_tile(tile); });
  std::array<double, 2> sums{};
  for (const auto& part : parts) sums[0] += part[0], sums[1] += part[1];
  return sums;
}

}  // namespace halftone::optim
