// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the field's known faults share: the formats one may train in, and what a value becomes
// when it is stored.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "halftone/amp.h"
#include "halftone/ops.h"

namespace halftone {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline void PrintTo(DType dtype, std::ostream* out) { *out << dtype.name(); }

// Every row of the table with signs and fractions: float64 down to float4, and fixed point.
inline std::vector<DType> signed_formats() {
  std::vector<DType> all;
  for (const Format& format : kFormats)
    if (format.is_signed && format.is_floating()) all.emplace_back(&format);
  return all;
}

// value, rounded once into the format.
inline double stored(double value, DType dtype) { return from_values({value}, dtype).item(); }

// Equal, or both NaN.
inline testing::AssertionResult same(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return testing::AssertionSuccess();
  return testing::AssertionFailure() << got << " instead of " << expected;
}

inline Tensor leaf(const Shape& shape, double value, DType dtype = float32) {
  return full(shape, value, dtype).set_requires_grad();
}
inline Tensor leaf(std::initializer_list<double> values, DType dtype = float32) {
  return from_values(values, dtype).set_requires_grad();
}
// A matrix of one row.
inline Tensor row(std::initializer_list<double> values, DType dtype = float32) {
  return from_values(std::vector<double>(values), {1, static_cast<std::int64_t>(values.size())}, dtype);
}

inline std::string name_of_format(const testing::TestParamInfo<DType>& info) {
  return std::string(info.param.name());
}

}  // namespace halftone
