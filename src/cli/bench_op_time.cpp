// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_op_time.h"

#include <chrono>

#include "cli/bench_rates.h"
#include "halftone/autograd.h"

namespace halftone::cli {

double seconds_in(const profile::Recording& recording, profile::Class kind, bool backward) {
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

double op_seconds(profile::Class kind, const std::vector<Tensor>& inputs,
                  const std::function<Tensor(const std::vector<Tensor>&)>& op, bool backward, double budget) {
  constexpr std::size_t kLeast = 5, kMost = 1000;
  for (Tensor input : inputs)
    if (input.dtype().is_floating()) input.set_requires_grad();
  std::vector<double> seconds;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  bool warm = false;
  while (seconds.size() < kLeast || (spent() < budget && seconds.size() < kMost)) {
    if (!backward) profile::start();
    Tensor result = op(inputs);
    if (backward) {
      const Tensor gradient = ones(result.shape(), result.dtype());
      profile::start();
      halftone::backward(result, gradient);
    }
    const double time = seconds_in(profile::stop(), kind, backward);
    for (Tensor input : inputs) input.zero_grad();
    if (warm) seconds.push_back(time);
    warm = true;
  }
  return median(std::move(seconds));
}

}  // namespace halftone::cli
