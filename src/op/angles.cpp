// SPDX-License-Identifier: Apache-2.0
#include "op/angles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

namespace halftone {
namespace {

struct Table {
  TurnRates rates;
  std::int64_t width;
  DType dtype;
  Tensor values;  // of the positions from 0 on
};

struct Tables {
  std::mutex mutex;
  std::vector<Table> kept;  // the most recently used last
};

Tables& tables() {
  static Tables& instance = *new Tables;  // threads may still turn while static objects go
  return instance;
}

double rate_of(const TurnRates& rates, std::int64_t pair, std::int64_t width) {
  const RotaryScaling& scaling = rates.scaling;
  const double rate = std::pow(rates.base, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
  if (scaling.original_context == 0) return rate / scaling.factor;
  const double turns = static_cast<double>(scaling.original_context) * rate / (2 * std::numbers::pi);
  const double kept = std::clamp(
      (turns - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency), 0.0, 1.0);
  return rate * ((1 - kept) / scaling.factor + kept);
}

Tensor made(const TurnRates& rates, std::int64_t first, std::int64_t positions, std::int64_t width,
            DType dtype) {
  const std::int64_t half = width / 2;
  std::vector<double> rate(static_cast<std::size_t>(half)),
      values(static_cast<std::size_t>(positions * width));
  for (std::int64_t i = 0; i < half; ++i) rate[static_cast<std::size_t>(i)] = rate_of(rates, i, width);
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle =
          (static_cast<double>(first) + static_cast<double>(p)) * rate[static_cast<std::size_t>(i)];
      values[static_cast<std::size_t>(p * width + i)] = std::cos(angle);
      values[static_cast<std::size_t>(p * width + i + half)] = std::sin(angle);
    }
  return from_values(values, {positions, width}, dtype);
}

}  // namespace

Tensor angles(const TurnRates& rates, std::int64_t first, std::int64_t positions, std::int64_t width,
              DType dtype) {
  // Elements of a table; a position beyond is no reason to keep all before it.
  constexpr std::int64_t kLargest = 1 << 21;
  if (width == 0 || first > kLargest / width - positions) return made(rates, first, positions, width, dtype);
  const std::int64_t end = first + positions;
  Tables& all = tables();
  const std::lock_guard lock(all.mutex);
  auto found = std::find_if(all.kept.begin(), all.kept.end(), [&](const Table& t) {
    return t.rates == rates && t.width == width && t.dtype == dtype;
  });
  if (found == all.kept.end()) {
    if (all.kept.size() == kAngleTables) all.kept.erase(all.kept.begin());
    all.kept.push_back({rates, width, dtype, {}});
  } else {
    std::rotate(found, found + 1, all.kept.end());
  }
  Table& table = all.kept.back();
  if (!table.values || table.values.size(0) < end)
    table.values = made(rates, 0, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(end))),
                        width, dtype);
  return table.values.view({positions, width}, {width, 1}, first * width);
}

std::size_t angle_tables() {
  Tables& all = tables();
  const std::lock_guard lock(all.mutex);
  return all.kept.size();
}

}  // namespace halftone
