// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/from_pytorch.md: every C++ block of the page is here, where it is compiled and run; and
// the page's table of cast rules is that of the ops.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "faults/support.h"
#include "halftone/halftone.h"

namespace halftone {
namespace {

struct Model {
  nn::Linear up{4, 16}, down{16, 3};
  Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
  void visit(auto&& each) { each("up", up), each("down", down); }
};

struct Normalized {
  nn::Linear up{4, 16};
  nn::BatchNorm norm{16};
  nn::Linear down{16, 3};
  Tensor operator()(const Tensor& x) const { return down(relu(norm(up(x)))); }
  void visit(auto&& each) { each("up", up), each("norm", norm), each("down", down); }
};

struct Batch {
  Tensor inputs, targets;
};

std::vector<Batch> make_batches() {
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < 40; ++i) {
    std::vector<double> targets;
    const Tensor inputs = random_normal({12, 4}, 5, i % 2);
    for (int j = 0; j < 12; ++j) targets.push_back(j % 3);
    batches.push_back({inputs, from_values(targets, {12}, int32)});
  }
  return batches;
}

const std::vector<Batch> batches = make_batches();

struct FromPyTorch : testing::Test {
  FromPyTorch() { manual_seed(1); }
  Model model;
  Model fresh() {
    manual_seed(1);
    return Model();
  }
  static double loss_of(const Model& trained) {
    return inference([&] { return cross_entropy(trained(batches[0].inputs), batches[0].targets); }).item();
  }
  template <class M>
  static std::vector<double> weights_of(M& trained) {
    std::vector<double> all;
    for (const Parameter& parameter : nn::parameters(trained))
      for (const double v : parameter.value.to_vector()) all.push_back(v);
    return all;
  }
};

TEST_F(FromPyTorch, TheTypicalLoop) {
  model = fresh();
  {
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
    amp::GradScaler scaler;
    for (const Batch& batch : batches) {
      optimizer.zero_grad();
      const Tensor loss =
          amp::autocast(float16, [&] { return cross_entropy(model(batch.inputs), batch.targets); });
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
    }
  }
  const std::vector<double> by_hand = weights_of(model);
  EXPECT_LT(loss_of(model), 0.8 * loss_of(fresh()));

  model = fresh();
  {
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
    amp::Step step(optimizer, amp::find_recipe("float16"), nn::buffers(model));
    for (const Batch& batch : batches) {
      const amp::StepResult result =
          step([&](int) { return cross_entropy(model(batch.inputs), batch.targets); });
      if (!result.applied()) std::puts(result.describe().c_str());
    }
  }
  EXPECT_EQ(weights_of(model), by_hand) << "Step is the loop by hand, in the one right order";
}

TEST_F(FromPyTorch, Clipping) {
  const Batch& batch = batches[0];
  optim::SGD optimizer(nn::parameters(model), {.lr = 1});
  amp::GradScaler scaler;
  const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);
  const std::vector<double> before = weights_of(model);
  {
    scaler.scale(loss).backward();
    scaler.unscale(optimizer);  // gradients are true from here on
    optim::clip_grad_norm(optimizer, 1e-3);
    scaler.step(optimizer);
    scaler.update();
  }
  const std::vector<double> after = weights_of(model);
  double squares = 0;
  for (std::size_t i = 0; i < after.size(); ++i) squares += (after[i] - before[i]) * (after[i] - before[i]);
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-5);

  scaler.scale(cross_entropy(model(batch.inputs), batch.targets)).backward();
  {
    scaler.step(optimizer, 1e-3);  // the same, without a pass over the gradients of its own
    scaler.update();
  }
}

TEST_F(FromPyTorch, ParameterGroups) {
  {
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2, .weight_decay = 0.1});
    optimizer.adjust([](const Parameter& p) { return p.value.rank() < 2; },
                     {.lr_factor = 2, .weight_decay = 0});
    const Batch& batch = batches[0];
    const std::vector<double> before = model.up.bias.to_vector();
    cross_entropy(model(batch.inputs), batch.targets).backward();
    optimizer.step();
    for (std::size_t i = 0; i < before.size(); ++i) {  // Adam's first step has the length of its lr, or 0
      const double change = std::abs(model.up.bias.to_vector()[i] - before[i]);
      EXPECT_TRUE(change == 0 || std::abs(change - 2e-2) < 1e-4) << change;
    }
  }
}

TEST_F(FromPyTorch, Accumulation) {
  const amp::Recipe& recipe = amp::find_recipe("float16");
  {
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
    amp::Step step(optimizer, recipe, nn::buffers(model), {.accumulation_steps = 4});
    for (std::size_t first = 0; first < batches.size(); first += 4)
      step([&](int i) {
        const Batch& batch = batches[first + static_cast<std::size_t>(i)];
        return cross_entropy(model(batch.inputs), batch.targets);
      });
    EXPECT_EQ(optimizer.steps(), 10);
  }
  {
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
    amp::GradScaler scaler;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const Tensor loss =
          amp::autocast(float16, [&] { return cross_entropy(model(batches[i].inputs), batches[i].targets); });
      scaler.scale(loss / full({}, 4)).backward();
      if (i % 4 < 3) continue;
      scaler.step(optimizer);
      scaler.update();
      optimizer.zero_grad();
    }
    EXPECT_EQ(optimizer.steps(), 10);
  }
  EXPECT_LT(loss_of(model), loss_of(fresh()));
}

// Second derivatives and several optimizers under one scaler; instantiated where they are tested.
template <class M>
void gradient_penalty(M& model, optim::Optimizer& optimizer, amp::GradScaler& scaler, const Batch& batch) {
  std::vector<Tensor> weights;
  for (const Parameter& parameter : nn::parameters(model)) weights.push_back(parameter.value);
  const Tensor loss = amp::autocast(float16, [&] {
    const Tensor fit = cross_entropy(model(batch.inputs), batch.targets);
    Tensor penalty = zeros({});
    for (const Tensor& gradient : gradients(scaler.scale(fit), weights, {.create_graph = true})) {
      const Tensor unscaled = gradient * (1.0 / scaler.state().scale);
      penalty = penalty + sum(unscaled * unscaled);
    }
    return fit + penalty;
  });
  scaler.scale(loss).backward();
  scaler.step(optimizer);
  scaler.update();
}

template <class M>
void two_optimizers(M& model0, M& model1, optim::Optimizer& optimizer0, optim::Optimizer& optimizer1,
                    amp::GradScaler& scaler, const Tensor& x, const Tensor& target) {
  optimizer0.zero_grad();
  optimizer1.zero_grad();
  const Tensor loss = amp::autocast(float16, [&] {
    const Tensor y0 = model0(x), y1 = model1(x);
    return mse_loss(2 * y0 + 3 * y1, target) + mse_loss(3 * y0 - 5 * y1, target);
  });
  scaler.scale(loss).backward();  // both losses in one pass: a graph is freed as backward goes
  scaler.step(optimizer0);
  scaler.step(optimizer1);
  scaler.update();  // once, after all of them
}

const Op cube_op = elementwise_op({
    .name = "cube",
    .cast = CastPolicy::inside_float32,  // read as it is, computed in float32, rounded once
    .forward = formula<1>([](auto x) { return x * x * x; }),
    .gradients = {{formula<2>([](auto dy, auto x) { return 3 * x * x * dy; }), {Operand::dy, Operand::x0}}},
    .examples = {},
});
Tensor cube(const Tensor& x) { return apply(cube_op, {x}); }

TEST_F(FromPyTorch, CustomFunctions) {
  Tensor x = leaf({0.5}, float16);
  const Tensor y = amp::autocast(float16, [&] { return cube(x); });
  EXPECT_EQ(y.dtype(), float16);
  EXPECT_EQ(y.item(), 0.125);
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 0.75);
}

TEST_F(FromPyTorch, CheckpointsAndFloat32Parts) {
  const auto block = [&](const Tensor& x) { return gelu(model(x)); };
  const Tensor x = batches[0].inputs;
  {
    const Tensor y = amp::autocast(bfloat16, [&] {
      return checkpoint([&](const std::vector<Tensor>& in) { return block(in[0]); }, {x});
    });
    sum(y).backward();
  }
  EXPECT_TRUE(model.up.weight.grad().defined());
  {
    const Tensor y = amp::autocast(bfloat16, [&] {
      const Tensor h = model.up(x);
      return amp::autocast(float32, [&] { return model.down(cast(h, float32)); });
    });
    EXPECT_EQ(y.dtype(), float32);
  }
  {
    const Tensor y = amp::autocast(bfloat16, [&] {
      return amp::override_cast("linear", {.result = float32}, [&] { return model(x); });
    });
    EXPECT_EQ(y.dtype(), float32);
  }
  {
    const auto records = amp::explain([&] { amp::autocast(bfloat16, [&] { return model(x); }); });
    EXPECT_NE(amp::to_table(records).find("linear"), std::string::npos);
  }
}

TEST_F(FromPyTorch, StateIsSavedAndLoaded) {
  const std::string file = testing::TempDir() + "/from_pytorch.safetensors";
  Normalized model;
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
  amp::GradScaler scaler({.init_scale = 0x1p-30, .growth_interval = 1, .min_scale = 0x1p-40});
  const auto train = [&](int count) {
    for (int i = 0; i < count; ++i) {
      optimizer.zero_grad();
      scaler.scale(cross_entropy(model(batches[0].inputs), batches[0].targets)).backward();
      scaler.step(optimizer);
      scaler.update();
    }
  };
  train(3);
  {
    train::State state;
    for (const Parameter& entry : nn::parameters(model)) state.tensors.push_back(entry);
    for (const Parameter& entry : nn::buffers(model)) state.tensors.push_back(entry);
    for (const Parameter& entry : optimizer.state()) state.tensors.push_back(entry);
    state.tensors.push_back({"scale", full({}, scaler.state().scale)});  // a float32, to the bit
    state.metadata["steps"] = std::to_string(optimizer.steps());
    train::save_state(file, state);
  }
  train(2);
  const auto everything = [&] {
    std::vector<double> all = weights_of(model);
    for (const Parameter& buffer : nn::buffers(model))
      for (const double v : buffer.value.to_vector()) all.push_back(v);
    return all;
  };
  const std::vector<double> expected = everything();
  const std::int64_t expected_steps = optimizer.steps();
  {
    const train::State state = train::load_state(file);
    std::map<std::string, Tensor> saved;
    for (const Parameter& entry : state.tensors) saved[entry.name] = entry.value;
    for (const Parameter& entry : nn::parameters(model))
      no_grad([&] { assign_(entry.value, saved.at(entry.name)); });
    for (const Parameter& entry : nn::buffers(model)) assign_(entry.value, saved.at(entry.name));
    for (const Parameter& entry : optimizer.state()) assign_(entry.value, saved.at(entry.name));
    optimizer.set_steps(std::stoll(state.metadata.at("steps")));
    scaler.load({.scale = static_cast<float>(saved.at("scale").item())});
  }
  EXPECT_EQ(scaler.state().scale, 0x1p-27);
  train(2);
  EXPECT_EQ(everything(), expected);
  EXPECT_EQ(optimizer.steps(), expected_steps);
  std::filesystem::remove(file);
}

TEST_F(FromPyTorch, OtherRecipesAreAnotherName) {
  for (const char* name : {"bfloat16", "float16_master", "mxfp8"}) {
    model = fresh();
    const amp::Recipe& recipe = amp::find_recipe(name);
    nn::to(model, recipe.parameter);  // before the optimizer is made
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2, .master = recipe.master});
    amp::Step step(optimizer, recipe, nn::buffers(model));
    for (const Batch& batch : batches)
      step([&](int) { return cross_entropy(model(batch.inputs), batch.targets); });
    const double loss = inference([&] {
                          return amp::autocast(step.casting(), [&] {
                            return cross_entropy(model(batches[0].inputs), batches[0].targets);
                          });
                        }).item();
    EXPECT_LT(loss, 0.8 * loss_of(fresh())) << name;
  }
}

std::string read(const std::string& file) {
  std::ifstream in(std::string(HALFTONE_SOURCE_DIR) + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Without what stands before the first character of each line.
std::string flush_left(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    result += (first == std::string::npos ? "" : line.substr(first)) + "\n";
  }
  return result;
}

TEST(FromPyTorchPage, EveryBlockIsCompiledHere) {
  const std::string page = read("docs/from_pytorch.md");
  const std::string program = flush_left(read("tests/faults/from_pytorch_test.cpp"));
  static const std::regex fence("```cpp\n([\\s\\S]*?)```");
  int blocks = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), fence), end; it != end; ++it, ++blocks)
    EXPECT_NE(program.find(flush_left((*it)[1])), std::string::npos) << "not compiled:\n" << (*it)[1];
  EXPECT_GE(blocks, 10);
}

TEST(FromPyTorchPage, TheCastRulesAreThoseOfTheOps) {
  std::map<std::string, std::string> policies;
  std::istringstream lines(read("docs/from_pytorch.md"));
  static const std::regex line_of_op(R"(^\| `(\w+)` \|.*\| `(\w+)` \|$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, line_of_op)) policies[match[1]] = match[2];
  }
  for (const Op* op : registered_ops())
    EXPECT_EQ(policies[std::string(op->name)], to_string(op->cast)) << op->name;
}

}  // namespace
}  // namespace halftone
