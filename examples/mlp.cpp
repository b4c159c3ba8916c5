// SPDX-License-Identifier: Apache-2.0
//
// The shortest training program: a model is a struct, a recipe says which format goes where, a Step puts the
// pieces of mixed precision in the right order. Learns which of two interleaved spirals a point belongs to.
#include <halftone/halftone.h>

#include <cmath>
#include <cstdio>

using namespace halftone;

struct Mlp {
  nn::Linear in{2, 64}, hidden{64, 64}, out{64, 2};
  Tensor operator()(const Tensor& x) const { return out(relu(hidden(relu(in(x))))); }
  void visit(auto&& each) { each("in", in), each("hidden", hidden), each("out", out); }
};

data::Batch spirals(std::int64_t count) {
  data::Batch batch{Tensor({count, 2}, float32), Tensor({count}, int32)};
  float* point = batch.inputs.mutable_data<float>();
  std::int32_t* arm = batch.targets.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    arm[i] = static_cast<std::int32_t>(i % 2);
    const float turn = 0.25f + 5 * static_cast<float>(i) / static_cast<float>(count);
    const float angle = turn + 3.14159265f * static_cast<float>(arm[i]);
    point[2 * i] = 0.3f * turn * std::cos(angle);
    point[2 * i + 1] = 0.3f * turn * std::sin(angle);
  }
  return batch;
}

int main() {
  set_thread_count(1);  // matrices this small gain nothing from a second thread
  manual_seed(1);
  const data::Batch batch = spirals(400);
  bool learned = true;
  for (const char* name : {"float32", "bfloat16", "float16_master"}) {
    const amp::Recipe& recipe = amp::find_recipe(name);
    Mlp model;
    nn::to(model, recipe.parameter);
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2, .master = recipe.master});
    amp::Step step(optimizer, recipe);
    for (int i = 0; i < 300; ++i) {
      const amp::StepResult result =
          step([&](int) { return cross_entropy(model(batch.inputs), batch.targets); });
      if (!result.applied()) std::printf("  %s\n", result.describe().c_str());
    }
    std::printf("%-15s loss %.4f after %lld steps\n", name, static_cast<double>(step.loss()),
                static_cast<long long>(optimizer.steps()));
    learned = learned && step.loss() < 0.1f;
  }
  return learned ? 0 : 1;
}
