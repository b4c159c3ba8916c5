// SPDX-License-Identifier: Apache-2.0
//
// What mixed precision itself costs: whole steps by amp::Step against the same steps without it (forward and
// backward under autocast, then the optimizer, and nothing else: no loss scale, no finite check, no
// unscaling, no snapshot of running statistics), and bfloat16 against float32, down to small networks. The
// lanes take turns; each number is the median of its turns, each ratio that of one turn's neighbours.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/median.h"
#include "halftone/halftone.h"
#include "train/machine.h"
#include "train/models.h"

namespace {

using namespace halftone;
using Json = nlohmann::ordered_json;

struct SmallMlp {
  nn::Linear layer1{784, 64}, layer2{64, 64}, layer3{64, 10};
  Tensor operator()(const Tensor& images) const {
    return layer3(relu(layer2(relu(layer1(flatten(images))))));
  }
  void visit(auto&& each) { each("layer1", layer1), each("layer2", layer2), each("layer3", layer3); }
};

class Lane {
 public:
  virtual ~Lane() = default;
  virtual void run(int steps) = 0;
};

template <nn::Module Model>
class ModelLane : public Lane {
 public:
  ModelLane(const amp::Recipe& recipe, bool bare, const data::Batch& batch)
      : batch_(batch),
        casting_(recipe),
        bare_(bare),
        model_((manual_seed(1), Model())),
        optimizer_((nn::to(model_, recipe.parameter), nn::parameters(model_)),
                   {.lr = 1e-5, .master = recipe.master}),
        step_(optimizer_, recipe, nn::buffers(model_), {}, {.init_scale = 1024}) {}

  void run(int steps) override {
    const auto loss = [&](int) { return cross_entropy(model_(batch_.inputs), batch_.targets); };
    for (int i = 0; i < steps; ++i) {
      if (!bare_) {
        step_(loss);
        continue;
      }
      optimizer_.zero_grad();
      amp::autocast(casting_, [&] { return loss(0); }).backward();
      optimizer_.step();
    }
  }

 private:
  const data::Batch& batch_;
  amp::Casting casting_;
  bool bare_;
  Model model_;
  optim::AdamW optimizer_;
  amp::Step step_;
};

struct Entry {
  std::string name;
  std::unique_ptr<Lane> lane;
  std::vector<double> seconds;  // a step, of each turn
};

// The median over the turns of a's time over b's.
double ratio(const Entry& a, const Entry& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.seconds.size(); ++i) ratios.push_back(a.seconds[i] / b.seconds[i]);
  return median(ratios);
}

template <nn::Module Model>
Json measure(std::int64_t images, int turns) {
  Tensor targets(Shape{images}, int32);
  for (std::int64_t i = 0; i < images; ++i)
    targets.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  const data::Batch batch{random_normal({images, 28, 28, 1}, 1, 1), targets};
  std::vector<Entry> entries;
  for (const char* recipe : {"float32", "bfloat16", "float16"})
    for (const bool bare : {false, true})
      entries.push_back(
          {recipe, std::make_unique<ModelLane<Model>>(amp::find_recipe(recipe), bare, batch), {}});
  const auto time = [&](Entry& entry, int steps) {
    const auto start = std::chrono::steady_clock::now();
    entry.lane->run(steps);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
  };
  for (Entry& entry : entries) entry.lane->run(3);
  const int steps = std::clamp(static_cast<int>(0.15 / time(entries[0], 1)), 1, 2000);
  for (int turn = 0; turn < turns; ++turn)
    for (Entry& entry : entries) entry.seconds.push_back(time(entry, steps));

  Json result;
  for (std::size_t i = 0; i < entries.size(); i += 2)
    result[entries[i].name] = {{"milliseconds", 1e3 * median(entries[i].seconds)},
                               {"bare_milliseconds", 1e3 * median(entries[i + 1].seconds)},
                               {"of_bare", ratio(entries[i], entries[i + 1])},
                               {"of_float32", ratio(entries[i], entries[0])}};
  return result;
}

}  // namespace

// overhead [turns]
int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  Json result = train::machine_json(train::describe_machine());
  for (const std::int64_t batch : {64, 128}) {
    const std::string name = "batch " + std::to_string(batch);
    result[name]["small mlp 784-64-64-10"] = measure<SmallMlp>(batch, turns);
    result[name]["mlp 784-512-512-10"] = measure<train::Mlp>(batch, turns);
    result[name]["cnn"] = measure<train::Cnn>(batch, turns);
  }
  std::cout << result.dump(2) << '\n';
}
