// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints under every recipe: nested, in sequence, keeping some results, with dropout and batch norm,
// steps after each other. Losses, gradients, running statistics, the memory of scales and the stream of
// random numbers have the bits of the run without.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <ostream>

#include "halftone/amp.h"
#include "halftone/nn.h"
#include "halftone/ops.h"

namespace halftone::amp {

void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.name; }

namespace {

enum class Parts { none, sequence, nested, selective };

struct Model {
  nn::Conv2d conv{2, 4, 3, 1, 1};
  nn::BatchNorm norm{4};
  nn::Linear first{64, 48}, second{48, 48}, third{48, 5};
  nn::Dropout dropout{0.3};
  Parts parts;

  explicit Model(Parts parts) : parts(parts) {}
  void visit(auto&& each) {
    each("conv", conv), each("norm", norm);
    each("first", first), each("second", second), each("third", third);
  }

  Tensor operator()(const Tensor& images) const {
    // By value: backward calls them again when this function has returned.
    auto stem = [this](const std::vector<Tensor>& in) { return max_pool2d(relu(norm(conv(in[0]))), 2); };
    auto hidden = [this](const std::vector<Tensor>& in) { return dropout(gelu(second(in[0]))); };
    auto body = [this, hidden](const std::vector<Tensor>& in) {
      const Tensor x = dropout(relu(first(flatten(in[0]))));
      const Tensor y = parts == Parts::nested ? checkpoint(hidden, {x}) : hidden({x});
      return add(x, y);
    };
    const CheckpointOptions keep{parts == Parts::selective
                                     ? std::vector<std::string>{"linear", "conv2d", "dropout", "batch_norm"}
                                     : std::vector<std::string>()};
    if (parts == Parts::none) return third(body({stem({images})}));
    return third(checkpoint(body, {checkpoint(stem, {images}, keep)}, keep));
  }
};

// Everything a run leaves behind, as bytes by name.
std::map<std::string, std::vector<double>> train(const Recipe& recipe, Parts parts) {
  manual_seed(1);
  Model model(parts);
  nn::to(model, recipe.parameter);
  const std::vector<Parameter> parameters = nn::parameters(model);
  Casting casting(recipe, parameters);
  std::map<std::string, std::vector<double>> found;
  const Tensor targets = from_values({0, 3, 1, 4, 2, 2, 0, 1}, int32);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Tensor images = random_normal({8, 8, 8, 2}, 5, step);
    const Tensor loss = autocast(casting, [&] { return cross_entropy(model(images), targets); });
    scale(loss, 64).backward();
    casting.finish_step();
    found[fmt::format("loss {}", step)] = loss.to_vector();
    for (Parameter parameter : parameters) {
      found[fmt::format("{} {}", parameter.name, step)] = parameter.value.grad().to_vector();
      parameter.value.zero_grad();
      // A step of some kind, so that the next one is another.
      no_grad([&] { assign_(parameter.value, scale(parameter.value, 0.75)); });
    }
  }
  for (const Parameter& buffer : nn::buffers(model)) found[buffer.name] = buffer.value.to_vector();
  for (const Parameter& entry : casting.state()) found[entry.name] = entry.value.to_vector();
  found["random numbers drawn"] = {static_cast<double>(thread_state().random_index)};
  return found;
}

class CheckpointRecipes : public testing::TestWithParam<Recipe> {};

TEST_P(CheckpointRecipes, HaveTheBitsOfTheRunWithout) {
  const auto plain = train(GetParam(), Parts::none);
  for (const auto& [name, values] : plain)
    for (const double value : values) ASSERT_TRUE(std::isfinite(value)) << name;
  for (const Parts parts : {Parts::sequence, Parts::nested, Parts::selective}) {
    const auto again = train(GetParam(), parts);
    ASSERT_EQ(again.size(), plain.size());
    for (const auto& [name, values] : plain)
      EXPECT_EQ(std::memcmp(again.at(name).data(), values.data(), values.size() * sizeof(double)), 0)
          << name << ", way " << static_cast<int>(parts);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CheckpointRecipes, testing::ValuesIn(kRecipes),
                         [](const testing::TestParamInfo<Recipe>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace halftone::amp
