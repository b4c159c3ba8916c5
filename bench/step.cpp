// SPDX-License-Identifier: Apache-2.0
//
// Whole training steps (batch, forward, backward, unscale, update) of the models of `halftone train`, in
// images per second. The recipes take turns, so that whatever else the machine does hits all of them; each
// number is the median of its turns. The matmul rates of the same process say what the machine had to give.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "halftone/halftone.h"
#include "support.h"
#include "train/machine.h"
#include "train/models.h"

namespace {

using namespace halftone;
using bench::Json;
using bench::median;

constexpr const char* kRecipes[] = {"float32", "bfloat16", "float16", "float16_master",
                                    "float8",  "mxfp8",    "nvfp4"};
constexpr std::int64_t kBatch = 128, kImages = 4096;

data::ImageSet noise() {
  data::ImageSet set{empty({kImages, 28, 28}, uint8), empty({kImages}, uint8)};
  auto* pixels = set.images.mutable_data<std::uint8_t>();
  auto* labels = set.labels.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < set.images.count(); ++i)
    pixels[i] = static_cast<std::uint8_t>(random_bits(1, streams::example, static_cast<std::uint64_t>(i)));
  for (std::int64_t i = 0; i < kImages; ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  return set;
}

class Lane {
 public:
  virtual ~Lane() = default;
  virtual void steps(int count) = 0;
};

template <nn::Module Model>
class ModelLane : public Lane {
 public:
  ModelLane(const amp::Recipe& recipe, const data::ImageSet& set)
      : set_(set),
        order_(data::shuffled(kImages, 1, 1)),
        model_((manual_seed(1), Model())),
        optimizer_((nn::to(model_, recipe.parameter), nn::parameters(model_)),
                   {.lr = 1e-4, .master = recipe.master, .state = recipe.state}),
        step_(optimizer_, recipe, nn::buffers(model_), {}, {.init_scale = 1024}) {}

  void steps(int count) override {
    for (int i = 0; i < count; ++i) {
      const data::Batch batch = data::gather_images(set_, order_, next_, next_ + kBatch);
      next_ = (next_ + kBatch) % kImages;
      const amp::StepResult result =
          step_([&](int) { return cross_entropy(model_(batch.inputs), batch.targets); });
      if (!result.applied()) std::cerr << result.describe() << '\n';
    }
  }

 private:
  const data::ImageSet& set_;
  std::vector<std::int32_t> order_;
  Model model_;
  optim::AdamW optimizer_;
  amp::Step step_;
  std::int64_t next_ = 0;
};

template <nn::Module Model>
Json measure(const data::ImageSet& set, const std::vector<std::string>& recipes, int steps, int turns) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const std::string& recipe : recipes)
    lanes.push_back(std::make_unique<ModelLane<Model>>(amp::find_recipe(recipe), set));
  std::vector<std::vector<double>> rates(lanes.size());
  for (const auto& lane : lanes) lane->steps(std::min(steps, 5));
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      lanes[i]->steps(steps);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      rates[i].push_back(static_cast<double>(steps) * kBatch / seconds.count());
    }
  Json result;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    result[recipes[i]] = {{"images_per_second", median(rates[i])},
                          {"slowest", *std::min_element(rates[i].begin(), rates[i].end())},
                          {"fastest", *std::max_element(rates[i].begin(), rates[i].end())}};
  return result;
}

}  // namespace

// step [cnn|mlp|both] [turns] [recipe...]
int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "both";
  const int turns = argc > 2 ? std::max(1, std::atoi(argv[2])) : 7;
  std::vector<std::string> recipes(argv + std::min(argc, 3), argv + argc);
  if (recipes.empty()) recipes.assign(std::begin(kRecipes), std::end(kRecipes));

  Json result = bench::machine();
  result["batch"] = kBatch;
  for (const DType dtype : {float32, bfloat16, float16})
    result["matmul_gflops"][std::string(dtype.name())] = train::matmul_gflops(dtype);
  const data::ImageSet set = noise();
  if (which != "mlp") result["cnn"] = measure<train::Cnn>(set, recipes, 6, turns);
  if (which != "cnn") result["mlp"] = measure<train::Mlp>(set, recipes, 60, turns);
  std::cout << result.dump(2) << '\n';
}
