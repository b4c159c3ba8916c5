// SPDX-License-Identifier: Apache-2.0
//
// How benchmarks time, and the yardsticks they measure in the same process: a copy in memory and the best
// matmul.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "halftone/profile.h"
#include "halftone/tensor.h"

namespace halftone::cli {

// Of one call, the median over calls that take about `budget` seconds together, five at least; the first,
// which makes caches warm, does not count.
double seconds_per_call(const std::function<void()>& call, double budget);

// What the thread that called profile::start() spent in a class, nested scopes counted apart: in its backward
// part, or in the rest.
inline double seconds_in(const profile::Recording& recording, profile::Class kind, bool backward) {
  std::int64_t nanoseconds = 0;
  std::vector<const profile::Event*> around;
  const auto counts = [&](const profile::Event& event) {
    return event.kind == kind && event.part.empty() != backward;
  };
  for (const profile::Event& event : recording.of_thread.at(0)) {
    while (static_cast<int>(around.size()) > event.depth) around.pop_back();
    const std::int64_t time = event.end - event.begin;
    if (counts(event)) nanoseconds += time;
    if (!around.empty() && counts(*around.back())) nanoseconds -= time;
    around.push_back(&event);
  }
  return static_cast<double>(nanoseconds) * 1e-9;
}

// Median seconds of `op`, applied to `inputs`, or of its backward, within a budget of seconds. Only what is
// of the class counts, from a recording: not the engine around it. Floating-point inputs get gradients.
double op_seconds(profile::Class kind, const std::vector<Tensor>& inputs,
                  const std::function<Tensor(const std::vector<Tensor>&)>& op, bool backward, double budget);

// GFLOP/s with operands in `dtype`: the best of a few large shapes, each the median of some calls.
double best_matmul_gflops(DType dtype);

// GB/s, read and written bytes counted, of copying bytes / 2.
double copy_gigabytes(std::int64_t bytes, double budget);

}  // namespace halftone::cli
