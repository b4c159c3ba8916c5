// SPDX-License-Identifier: Apache-2.0
//
// self_attention, causal, forward and backward: GFLOP/s (of the products that a causal mask leaves, two
// forward and five backward) beside the rate of a dense product in the same process, at 2048 and 16384
// tokens. JSON on stdout.
#include <chrono>
#include <functional>
#include <iostream>
#include <string>

#include "halftone/autograd.h"
#include "halftone/ops.h"
#include "halftone/parallel.h"
#include "halftone/random.h"
#include "support.h"

namespace halftone {
namespace {

using bench::Json;

Tensor random(const Shape& shape, DType dtype) {
  return random_uniform(shape, -1, 1, 1, streams::example, dtype);
}

double seconds(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Json measure(std::int64_t batch, std::int64_t context, DType dtype, int turns) {
  constexpr int kHeads = 6, kWidth = 384;
  const Tensor qkv = random({batch, context, 3 * kWidth}, dtype).set_requires_grad(),
               dy = random({batch, context, kWidth}, dtype);
  const Tensor a = random({2048, kWidth}, dtype), b = random({kWidth, 4 * kWidth}, dtype);
  std::vector<double> forward, backward, dense;
  for (int turn = 0; turn <= turns; ++turn) {
    Tensor y;
    const double f = seconds([&] { y = self_attention(qkv, kHeads, {.causal = true}); });
    const double g = seconds([&] { static_cast<void>(gradients(y, {qkv}, {}, dy)); });
    const double m = seconds([&] { matmul(a, b); });
    if (turn == 0) continue;  // compiles the primitives
    forward.push_back(f), backward.push_back(g), dense.push_back(m);
  }
  const auto tokens = static_cast<double>(batch * context);
  const double product =
                   tokens * static_cast<double>(context + 1) * kWidth,  // 2 operations, half of the keys
      rate = 2.0 * 2048 * kWidth * 4 * kWidth / bench::median(dense) * 1e-9;
  const double f = bench::median(forward), g = bench::median(backward);
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
  bench::Json results = bench::Json::array();
  for (const DType dtype : {float32, bfloat16, float16})
    for (const auto& [batch, context] : {std::pair{8, 256}, std::pair{8, 2048}})
      results.push_back(measure(batch, context, dtype, context == 256 ? 15 : 3));
  std::cout << bench::Json{{"machine", bench::machine()}, {"attention", results}}.dump(2) << '\n';
}
