// SPDX-License-Identifier: Apache-2.0
//
// The angles of rotary positions, kept between calls: every layer of every step asks for the same.
#pragma once

#include "halftone/ops.h"

namespace halftone {

// How fast the pairs of a row turn.
struct TurnRates {
  double base;
  RotaryScaling scaling = {};
  bool operator==(const TurnRates&) const = default;
};

// (positions, width): row p holds the cosines, then the sines, of (first + p) rate for the width / 2 rates.
// float32 or float64. Not to be written to. Safe from several threads.
Tensor angles(const TurnRates& rates, std::int64_t first, std::int64_t positions, std::int64_t width,
              DType dtype);

// Tables kept: beyond these the least recently used is dropped. One of generation grows as the text does.
inline constexpr std::size_t kAngleTables = 8;
std::size_t angle_tables();

}  // namespace halftone
