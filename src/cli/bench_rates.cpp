// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_rates.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/median.h"
#include "halftone/autograd.h"
#include "halftone/parallel.h"
#include "halftone/tensor.h"
#include "train/machine.h"

namespace halftone::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLeast = 5, kMost = 1000;  // calls

}  // namespace

double seconds_per_call(const std::function<void()>& call, double budget) {
  call();
  std::vector<double> seconds;
  double total = 0;
  while (seconds.size() < kLeast || (total < budget && seconds.size() < kMost)) {
    const auto begin = Clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    total += seconds.back();
  }
  return median(std::move(seconds));
}

double op_seconds(profile::Class kind, const std::vector<Tensor>& inputs,
                  const std::function<Tensor(const std::vector<Tensor>&)>& op, bool backward, double budget) {
  for (Tensor input : inputs)
    if (input.dtype().is_floating()) input.set_requires_grad();
  std::vector<double> seconds;
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

double best_matmul_gflops(DType dtype) {
  return std::max({train::matmul_gflops(dtype), train::matmul_gflops(dtype, 2048, 384, 1536),
                   train::matmul_gflops(dtype, 2048, 1536, 384),
                   train::matmul_gflops(dtype, 4096, 768, 768)});
}

double copy_gigabytes(std::int64_t bytes, double budget) {
  constexpr std::int64_t kChunk = 1 << 17;
  const std::int64_t half = std::max<std::int64_t>(1, bytes / 2);
  const Tensor from = zeros({half}, uint8);
  Tensor to = zeros({half}, uint8);
  const auto* source = from.data<std::uint8_t>();
  auto* target = to.mutable_data<std::uint8_t>();
  return static_cast<double>(bytes) * 1e-9 /
         seconds_per_call(
             [&] {
               parallel_for(half, kChunk, [&](std::int64_t begin, std::int64_t end) {
                 std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
               });
             },
             budget);
}

}  // namespace halftone::cli
