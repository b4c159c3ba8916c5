// SPDX-License-Identifier: Apache-2.0
//
// A gradient penalty in mixed precision: a critic whose gradient by its input is held near length 1
// (Gulrajani et al., "Improved training of Wasserstein GANs", 2017). The inner gradient is taken of the
// scaled score and divided by the scale before it is used; if it overflows, so does the step, which is
// skipped.
#include <cmath>
#include <cstdio>

#include "halftone/halftone.h"

using namespace halftone;

struct Critic {
  nn::Linear hidden{2, 64}, score{64, 1};
  Tensor operator()(const Tensor& x) const { return score(tanh(hidden(x))); }
  void visit(auto&& each) { each("hidden", hidden), each("score", score); }
};

int main() {
  manual_seed(1);
  Critic critic;
  optim::AdamW optimizer(nn::parameters(critic), {.lr = 5e-3});
  amp::GradScaler scaler;
  double length = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const Tensor fake = random_normal({64, 2}, 1, step), real = random_normal({64, 2}, 2, step) * 0.5;
    optimizer.zero_grad();
    const Tensor loss = amp::autocast(float16, [&] {
      Tensor between = (fake * 0.5 + real * 0.5).set_requires_grad();
      const Tensor scaled = scaler.scale(sum(critic(between)));
      const Tensor gradient =
          gradients(scaled, {between}, {.create_graph = true})[0] * (1 / double{scaler.state().scale});
      const Tensor norm = exp(log(sum(gradient * gradient, {1})) * 0.5);
      const Tensor excess = norm - ones({});
      length = mean(norm).item();
      return mean(critic(fake)) - mean(critic(real)) + 10 * mean(excess * excess);
    });
    scaler.scale(loss).backward();
    const amp::StepResult result = scaler.step(optimizer);
    scaler.update();
    if (!result.applied()) std::printf("step %d: %s\n", static_cast<int>(step), result.describe().c_str());
  }
  std::printf("mean length of the gradient: %.3f, scale %g\n", length, double{scaler.state().scale});
  return std::abs(length - 1) < 0.2 ? 0 : 1;
}
