// SPDX-License-Identifier: Apache-2.0
//
// A small model with an optimizer and a step, and the bits of everything that a rejected step must not
// change.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/nn.h"
#include "halftone/optim.h"

namespace halftone::amp {

struct Model {
  nn::Linear up{4, 8};
  nn::BatchNorm norm{8};
  nn::Linear down{8, 3};
  Tensor operator()(const Tensor& x) const { return down(relu(norm(up(x)))); }
  void visit(auto&& each) { each("up", up), each("norm", norm), each("down", down); }
};

struct Fixture {
  explicit Fixture(const Recipe& recipe, bool adamw = false, StepOptions options = {},
                   ScalerOptions scaler = {})
      : recipe(recipe) {
    manual_seed(1);
    model = std::make_unique<Model>();
    nn::to(*model, recipe.parameter);
    if (adamw)
      optimizer = std::make_unique<optim::AdamW>(nn::parameters(*model),
                                                 optim::AdamWOptions{.lr = 0.01, .master = recipe.master});
    else
      optimizer = std::make_unique<optim::SGD>(
          nn::parameters(*model), optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .master = recipe.master});
    step = std::make_unique<Step>(*optimizer, recipe, nn::buffers(*model), options, scaler);
  }

  Tensor loss(std::uint64_t batch, std::int64_t rows = 16) {
    Tensor targets(Shape{rows}, int32);
    for (std::int64_t i = 0; i < rows; ++i)
      targets.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
    return cross_entropy((*model)(random_normal({rows, 4}, 5, batch)), targets);
  }

  // Everything that a rejected step must leave as it was.
  std::vector<std::uint64_t> everything() {
    std::vector<std::uint64_t> all = bits(nn::parameters(*model));
    for (const auto& list : {bits(step->buffers()), bits(optimizer->state())})
      all.insert(all.end(), list.begin(), list.end());
    for (const Parameter& p : optimizer->parameters())
      for (const auto& cast : p.value.storage()->casts) {
        all.push_back(bits({cast.copy->data, static_cast<std::size_t>(cast.copy->bytes)}));
        EXPECT_EQ(cast.version, p.value.version());
      }
    return all;
  }

  const Recipe& recipe;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Step> step;
};

}  // namespace halftone::amp
