// SPDX-License-Identifier: Apache-2.0
//
// The kernels of attention on a packed tensor, causal, forward and backward: GFLOP/s (of the products that a
// causal mask leaves, two forward and five backward) beside the rate of a dense product in the same process,
// at 2048 and 16384 tokens. JSON on stdout.
#include <any>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "backend/kernel_options.h"
#include "base/median.h"
#include "halftone/backend.h"
#include "halftone/random.h"
#include "train/machine.h"

namespace halftone {
namespace {

using Json = nlohmann::ordered_json;

Tensor random(const Shape& shape, DType dtype) {
  return random_uniform(shape, -1, 1, 1, streams::example, dtype);
}

double seconds(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Columns of x (batch, context, ..) as (batch, heads, context, width).
constexpr int kHeads = 6, kHeadWidth = 64, kWidth = kHeads * kHeadWidth;
Tensor heads(const Tensor& x, int part) {
  const std::int64_t row = x.size(2);
  return x.view({x.size(0), kHeads, x.size(1), kHeadWidth}, {x.size(1) * row, kHeadWidth, row, 1},
                part * kWidth);
}

Json measure(std::int64_t batch, std::int64_t context, DType dtype, int turns) {
  const Tensor qkv = random({batch, context, 3 * kWidth}, dtype), dqkv(qkv.shape(), dtype),
               dy = random({batch, context, kWidth}, dtype), y(dy.shape(), dtype),
               statistics({batch, kHeads, context, 2}, float32);
  const std::any options = AttentionKernelOptions{true, 0.125};
  const Backend& cpu = find_backend("cpu");
  const Kernel forward_kernel = cpu.find("attention.forward"),
               backward_kernel = cpu.find("attention.backward");
  const Tensor a = random({2048, kWidth}, dtype), b = random({kWidth, 4 * kWidth}, dtype),
               c({2048, 4 * kWidth}, dtype);
  std::vector<double> forward, backward, dense;
  for (int turn = 0; turn <= turns; ++turn) {
    const Tensor in[] = {heads(qkv, 0), heads(qkv, 1), heads(qkv, 2), {},
                         heads(y, 0),   statistics,    heads(dy, 0)},
                 out[] = {in[4], statistics}, gradients[] = {heads(dqkv, 0), heads(dqkv, 1), heads(dqkv, 2)};
    const double f = seconds([&] { forward_kernel({std::span(in).first(4), out, options}); });
    const double g = seconds([&] { backward_kernel({in, gradients, options}); });
    const double m = seconds([&] { cpu.matmul({.a = a, .b = b, .c = c, .bias = {}}); });
    if (turn == 0) continue;  // compiles the primitives
    forward.push_back(f), backward.push_back(g), dense.push_back(m);
  }
  const auto tokens = static_cast<double>(batch * context);
  const double product =
                   tokens * static_cast<double>(context + 1) * kWidth,  // 2 operations, half of the keys
      rate = 2.0 * 2048 * kWidth * 4 * kWidth / median(dense) * 1e-9;
  const double f = median(forward), g = median(backward);
  return {{"format", dtype.name()},
          {"batch", batch},
          {"context", context},
          {"forward_ms", f * 1e3},
          {"backward_ms", g * 1e3},
          {"forward_gflops", 2 * product / f * 1e-9},
          {"backward_gflops", 5 * product / g * 1e-9},
          {"dense_gflops", rate},
          {"forward_of_dense", 2 * product / f * 1e-9 / rate},
          {"backward_of_dense", 5 * product / g * 1e-9 / rate}};
}

}  // namespace
}  // namespace halftone

int main() {
  using namespace halftone;
  Json results = Json::array();
  for (const DType dtype : {float32, bfloat16, float16})
    for (const auto& [batch, context] : {std::pair{8, 256}, std::pair{8, 2048}})
      results.push_back(measure(batch, context, dtype, context == 256 ? 15 : 3));
  const Json machine = train::machine_json(train::describe_machine());
  std::cout << Json{{"machine", machine}, {"attention", results}}.dump(2) << '\n';
}
