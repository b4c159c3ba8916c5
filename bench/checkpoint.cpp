// SPDX-License-Identifier: Apache-2.0
//
// What activation checkpointing saves and costs: the peak memory above the parameters and the time of forward
// and backward of a deep network of linear and gelu, without, in parts, and in parts that keep the results of
// the matmuls. The ways take turns; times are medians.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/median.h"
#include "halftone/halftone.h"
#include "train/machine.h"

namespace {

using namespace halftone;
using Json = nlohmann::ordered_json;

constexpr int kLayers = 32, kWidth = 256;
constexpr std::int64_t kBatch = 1024;

struct Way {
  std::string name;
  int part;  // layers in a checkpoint; 0: none
  std::vector<std::string> keep{};
};
const Way kWays[] = {{"none", 0},
                     {"every layer", 1},
                     {"parts of 4", 4},
                     {"parts of 8", 8},
                     {"parts of 8, linear kept", 8, {"linear"}}};

struct Measured {
  std::int64_t peak = 0;
  std::vector<double> milliseconds;
};

void once(std::vector<nn::Linear>& layers, const Tensor& x, DType compute, const Way& way,
          Measured& measured) {
  for (nn::Linear& layer : layers) {
    layer.weight.zero_grad();
    layer.bias.zero_grad();
  }
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  const auto start = std::chrono::steady_clock::now();
  amp::autocast(compute, [&] {
    Tensor y = x;
    const int part = std::max(way.part, 1);
    for (int first = 0; first < kLayers; first += part) {
      auto run = [&layers, first, part](const std::vector<Tensor>& in) {
        Tensor h = in[0];
        for (int i = first; i < first + part; ++i) h = gelu(layers[static_cast<std::size_t>(i)](h));
        return h;
      };
      y = way.part > 0 ? checkpoint(run, {y}, {.keep = way.keep}) : run({y});
    }
    return mean(mul(y, y));
  }).backward();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  measured.milliseconds.push_back(time.count());
  measured.peak = memory_stats().peak - before;
}

}  // namespace

// checkpoint [turns]
int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  manual_seed(1);
  std::vector<nn::Linear> layers;
  for (int i = 0; i < kLayers; ++i) layers.emplace_back(kWidth, kWidth);
  const Tensor x = random_normal({kBatch, kWidth}, 1, 1);
  Json result = train::machine_json(train::describe_machine());
  result["layers"] = kLayers;
  result["width"] = kWidth;
  result["batch"] = kBatch;
  for (const DType compute : {float32, bfloat16}) {
    std::vector<Measured> measured(std::size(kWays));
    for (int turn = 0; turn < turns; ++turn)
      for (std::size_t i = 0; i < measured.size(); ++i) once(layers, x, compute, kWays[i], measured[i]);
    const double time = median(measured[0].milliseconds);
    for (std::size_t i = 0; i < measured.size(); ++i)
      result[std::string(compute.name())][kWays[i].name] = {
          {"peak_mib", static_cast<double>(measured[i].peak) / (1 << 20)},
          {"milliseconds", median(measured[i].milliseconds)},
          {"peak_ratio", static_cast<double>(measured[i].peak) / static_cast<double>(measured[0].peak)},
          {"time_ratio", median(measured[i].milliseconds) / time}};
  }
  std::cout << result.dump(2) << '\n';
}
