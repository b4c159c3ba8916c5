// SPDX-License-Identifier: Apache-2.0
//
// Narrow numbers (scalar.h) in fmt, with every format specification that float has.
#pragma once

#include <fmt/format.h>

#include "halftone/scalar.h"

template <int index>
struct fmt::formatter<halftone::Scalar<index>> : fmt::formatter<float> {
  template <class Context>
  auto format(halftone::Scalar<index> x, Context& context) const {
    return fmt::formatter<float>::format(static_cast<float>(x), context);
  }
};
