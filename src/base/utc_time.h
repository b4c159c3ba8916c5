// SPDX-License-Identifier: Apache-2.0
//
// The date of a measurement or a run.
#pragma once

#include <string>

namespace halftone {

std::string utc_now();  // ISO 8601, to the second: "2026-11-30T08:47:00Z"

}  // namespace halftone
