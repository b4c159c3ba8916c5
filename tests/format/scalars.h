// SPDX-License-Identifier: Apache-2.0
//
// Every type of scalar.h, and its numbers, for tests typed over them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "format/oracle.h"
#include "halftone/scalar.h"

namespace halftone {

using Scalars =
    testing::Types<float16_t, bfloat16_t, float8_e4m3fn_t, float8_e5m2_t, float8_e4m3_t, float8_e3m4_t,
                   float8_e4m3fnuz_t, float8_e5m2fnuz_t, float8_e4m3b11fnuz_t, float6_e3m2fn_t,
                   float6_e2m3fn_t, float4_e2m1fn_t, float8_e8m0fnu_t, fixed8m6_t>;

struct ScalarNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(T::format().name);
  }
};

template <class T>
std::vector<T> every() {
  std::vector<T> all;
  for (std::uint64_t code = 0; code < std::uint64_t{1} << T::format().bits(); ++code)
    all.push_back(T::from_code(code));
  return all;
}

template <class T>
double value_of(T x) {
  return oracle::value_of(T::format(), x.code());
}

// In ascending order, infinities included.
template <class T>
std::vector<T> every_number_but_negative_zero() {
  std::vector<T> numbers;
  for (T x : every<T>())
    if (!std::isnan(value_of(x)) && !(value_of(x) == 0 && std::signbit(value_of(x)))) numbers.push_back(x);
  std::sort(numbers.begin(), numbers.end(), [](T a, T b) { return value_of(a) < value_of(b); });
  return numbers;
}

}  // namespace halftone
