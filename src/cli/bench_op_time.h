// SPDX-License-Identifier: Apache-2.0
//
// The time of an op alone, from a recording: neither the engine around it nor what it waits for.
#pragma once

#include <functional>
#include <vector>

#include "halftone/profile.h"
#include "halftone/tensor.h"

namespace halftone::cli {

// Seconds that the calling thread spent in a class (only its backward part, or only the rest).
double seconds_in(const profile::Recording& recording, profile::Class kind, bool backward);

// Median seconds of `op`, applied to `inputs`, or of its backward, within a budget of seconds. Only what is
// of the class counts. Floating-point inputs get gradients.
double op_seconds(profile::Class kind, const std::vector<Tensor>& inputs,
                  const std::function<Tensor(const std::vector<Tensor>&)>& op, bool backward, double budget);

}  // namespace halftone::cli
