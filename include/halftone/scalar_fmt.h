// SPDX-License-Identifier: Apache-2.0
//
// Narrow numbers (scalar.h) in fmt, with every format specification that float has.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)  // g++ 12 at -O3 suspects the parser of specifications of fmt 9
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#include <fmt/format.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include "halftone/scalar.h"

template <int index, class Char>
struct fmt::formatter<halftone::Scalar<index>, Char> : fmt::formatter<float, Char> {
  template <class Context>
  auto format(halftone::Scalar<index> x, Context& context) const {
    return fmt::formatter<float, Char>::format(static_cast<float>(x), context);
  }
};
