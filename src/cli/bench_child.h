// SPDX-License-Identifier: Apache-2.0
//
// Work in a process of its own: what one piece of work takes from the system can not be told apart in a
// process that did another before.
#pragma once

#include <functional>
#include <string>

namespace halftone::cli {

// Runs `work` in a copy of this process and returns what it returned. Throws std::runtime_error with the
// message of what it threw, Error if it ended otherwise. Only before the first parallel loop: a copy has none
// of its threads.
std::string in_child(const std::function<std::string()>& work);

}  // namespace halftone::cli
