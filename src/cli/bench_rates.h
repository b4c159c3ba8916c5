// SPDX-License-Identifier: Apache-2.0
//
// How benchmarks time, and the yardsticks they measure in the same process: a copy in memory and the best
// matmul.
#pragma once

#include <functional>
#include <vector>

#include "halftone/profile.h"
#include "halftone/tensor.h"

namespace halftone::cli {

// Of one call, the median over calls that take about `budget` seconds together, five at least; the first,
// which makes caches warm, does not count.
double seconds_per_call(const std::function<void()>& call, double budget);

// Median seconds of `op`, applied to `inputs`, or of its backward, within a budget of seconds. Only what is
// of the class counts, from a recording: not the engine around it. Floating-point inputs get gradients.
double op_seconds(profile::Class kind, const std::vector<Tensor>& inputs,
                  const std::function<Tensor(const std::vector<Tensor>&)>& op, bool backward, double budget);

// GFLOP/s with operands in `dtype`: the best of a few large shapes, each the median of some calls.
double best_matmul_gflops(DType dtype);

// GB/s, read and written bytes counted, of copying bytes / 2.
double copy_gigabytes(std::int64_t bytes, double budget);

}  // namespace halftone::cli
