// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace halftone::train {

inline constexpr std::string_view kVersion = "0.1.0";  // as in CMakeLists.txt; a test compares them

}  // namespace halftone::train
