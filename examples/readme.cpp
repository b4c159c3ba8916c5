// SPDX-License-Identifier: Apache-2.0
//
// The program of README.md.
#include <halftone/halftone.h>
#include <cstdio>

using namespace halftone;

struct Mlp {
  nn::Linear up{2, 64}, down{64, 2};
  Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
  void visit(auto&& each) { each("up", up), each("down", down); }
};

int main() {
  manual_seed(1);
  Mlp model;
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
  amp::Step step(optimizer, amp::find_recipe("float16"));  // autocast, dynamic loss scale, float32 weights

  // Is a point inside the circle?
  const Tensor points = random_uniform({512, 2}, -1, 1, 1, streams::example);
  const auto squares = sum(points * points, {1}).to_vector();
  std::vector<double> inside;
  for (const double r2 : squares) inside.push_back(r2 < 0.6 ? 1 : 0);
  const Tensor targets = from_values(inside, {512}, int32);

  for (int i = 0; i < 300; ++i) {
    const amp::StepResult result = step([&](int) { return cross_entropy(model(points), targets); });
    if (!result.applied()) std::printf("%s\n", result.describe().c_str());
  }
  std::printf("loss %.3f at scale %g\n", step.loss(), step.scaler().state().scale);
  return step.loss() < 0.1 ? 0 : 1;
}
