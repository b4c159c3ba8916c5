// SPDX-License-Identifier: Apache-2.0
#include "base/utc_time.h"

#include <fmt/chrono.h>

#include <ctime>

namespace halftone {

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace halftone
