// SPDX-License-Identifier: Apache-2.0
//
// The class that the time of an op is counted in (halftone/profile.h).
#pragma once

#include <string_view>

#include "halftone/profile.h"

namespace halftone {

// By name; `other` for an op that is not the library's.
profile::Class class_of_op(std::string_view name);

}  // namespace halftone
