// SPDX-License-Identifier: Apache-2.0
//
// Blocks from their definition, in doubles and with the list of the element's values, sharing nothing with
// the library but the decoding of single codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

#include "halftone/block.h"

namespace halftone {

inline void PrintTo(const BlockFormat& format, std::ostream* out) { *out << format.name; }

namespace oracle {

// The value of the scale of a block. REQUIRES finite values, not all zero.
inline double block_scale(const BlockFormat& format, const std::vector<float>& values, float tensor_scale) {
  double amax = 0;
  for (float v : values) amax = std::max(amax, std::fabs(static_cast<double>(v)));
  const Format &element = format.element.format(), &scale = format.scale.format();
  const double largest = max_finite(element);
  const int emax = std::ilogb(largest);
  double wanted = 0;
  switch (format.rule) {
    case ScaleRule::floor:
      wanted = std::ldexp(1, std::ilogb(amax) - emax);
      break;
    case ScaleRule::ceil:
      wanted = std::ldexp(1, std::ilogb(amax) + (amax > std::ldexp(1, std::ilogb(amax)) ? 1 : 0) - emax);
      break;
    case ScaleRule::rceil:
      wanted = std::ldexp(1, std::ilogb(amax) - emax - 1);
      while (amax > largest * wanted) wanted *= 2;
      break;
    case ScaleRule::even: {
      // Round the significand to the precision of the largest element; only a carry matters.
      const int digits = element.precision();
      const double significand = std::ldexp(amax, -std::ilogb(amax));
      const double step = std::ldexp(1, 1 - digits);
      wanted = std::ldexp(1, std::ilogb(amax) - emax + (significand >= 2 - step / 2 ? 1 : 0));
      break;
    }
    case ScaleRule::nearest: {
      const float ratio = static_cast<float>(amax) / static_cast<float>(largest);
      wanted = static_cast<double>(ratio * (1 / tensor_scale));
      break;
    }
  }
  // The nearest value of the scale format, ties to the even code.
  double best = 0, distance = std::numeric_limits<double>::infinity();
  for (std::uint64_t code = 0; code < std::uint64_t{1} << scale.bits(); ++code) {
    const double value = decode(scale, code);
    if (!(value > 0) || !std::isfinite(value)) continue;
    if (format.rule != ScaleRule::nearest && std::ldexp(1, std::ilogb(value)) != value) continue;
    const double d = std::fabs(value - wanted);
    if (d < distance || (d == distance && code % 2 == 0)) best = value, distance = d;
  }
  return best;
}

// What the element nearest to x (ties to the even code) is, saturating.
inline double nearest_element(const Format& format, double x) {
  double best = 0, distance = std::numeric_limits<double>::infinity();
  for (std::uint64_t code = 0; code < std::uint64_t{1} << format.bits(); ++code) {
    const double value = decode(format, code);
    if (!std::isfinite(value)) continue;
    const double d = std::fabs(value - x);
    if (d < distance || (d == distance && code % 2 == 0)) best = value, distance = d;
  }
  return best;
}

inline std::vector<float> block_values(const BlockFormat& format, const std::vector<float>& values,
                                       float tensor_scale) {
  const double scale = block_scale(format, values, tensor_scale);
  std::vector<float> result;
  for (float v : values) {
    double ratio = static_cast<double>(v) / scale;
    if (format.rule == ScaleRule::nearest)
      ratio = static_cast<double>(v * ((1 / tensor_scale) / static_cast<float>(scale)));
    const float product = static_cast<float>(nearest_element(format.element.format(), ratio) * scale);
    result.push_back(format.has_tensor_scale ? product * tensor_scale : product);
  }
  return result;
}

}  // namespace oracle
}  // namespace halftone
