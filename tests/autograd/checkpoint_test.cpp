// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/nn.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor input() { return random_normal({8, 6}, 1, 1).set_requires_grad(); }

TEST(Checkpoint, FanInAcrossItsBorderKeepsTheBits) {
  // x is used twice inside and twice outside: the four gradients must add up in the order of the plain run.
  auto run = [](bool checkpointed) {
    const Tensor w = input();
    return amp::autocast(bfloat16, [&] {
      const Tensor x = gelu(w);
      auto inside = [](const std::vector<Tensor>& in) { return mul(gelu(in[0]), sigmoid(in[0])); };
      const Tensor before = tanh(x);
      const Tensor y = checkpointed ? checkpoint(inside, {x}) : inside({x});
      sum(add(add(y, before), exp(x))).backward();
      return w.grad().to_vector();
    });
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Checkpoint, ParametersThatTheFunctionCapturesGetTheirGradients) {
  manual_seed(3);
  nn::Linear layer(6, 6);
  auto run = [&](bool checkpointed) {
    layer.weight.zero_grad();
    const Tensor x = random_normal({8, 6}, 1, 1);  // needs no gradient itself
    auto fn = [&](const std::vector<Tensor>& in) { return relu(layer(in[0])); };
    sum(checkpointed ? checkpoint(fn, {x}) : fn({x})).backward();
    return layer.weight.grad().to_vector();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Checkpoint, AWeightCastOutsideAndInsideTheBlockIsOneParameter) {
  auto run = [](bool checkpointed) {
    const Tensor w = random_normal({6, 6}, 2, 1).set_requires_grad();
    auto fn = [&](const std::vector<Tensor>& in) { return matmul(in[0], w); };
    amp::autocast(bfloat16, [&] {
      const Tensor y = matmul(random_normal({8, 6}, 1, 1), w);
      return sum(checkpointed ? checkpoint(fn, {y}) : fn({y}));
    }).backward();
    return w.grad().to_vector();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Checkpoint, RecomputesInTheFormatOfTheForwardPass) {
  // 70000 is 70144 in bfloat16 and infinite in float16.
  const Tensor x = from_values(std::vector<double>{70000}, {1, 1}).set_requires_grad();
  const Tensor identity = ones({1, 1});
  Tensor y;
  const Tensor loss = amp::autocast(bfloat16, [&] {
    y = checkpoint([&](const std::vector<Tensor>& in) { return matmul(matmul(in[0], identity), identity); },
                   {x});
    return mean(mul(y, y));
  });
  EXPECT_EQ(y.item(), 70144);
  loss.backward();
  EXPECT_EQ(x.grad().item(), 140288);  // 2 y
}

TEST(Checkpoint, RunningStatisticsMoveOnce) {
  // Momentum 0.5 and a column of 0 and 4: the running mean is 1 after the forward pass and stays 1.
  nn::BatchNorm norm(1, 0.5);
  const Tensor x = from_values(std::vector<double>{0, 4}, {2, 1}).set_requires_grad();
  const Tensor y = checkpoint([&](const std::vector<Tensor>& in) { return norm(in[0]); }, {x});
  EXPECT_EQ(norm.running_mean.value.item(), 1);
  sum(mul(y, y)).backward();
  EXPECT_EQ(norm.running_mean.value.item(), 1);
}

TEST(Checkpoint, DropoutDrawsTheSameMaskAndTheStreamGoesOn) {
  manual_seed(5);
  const Tensor x = ones({1000}).set_requires_grad();
  const Tensor y = checkpoint([](const std::vector<Tensor>& in) { return dropout(in[0], 0.5); }, {x});
  const auto index = thread_state().random_index;
  EXPECT_EQ(index, 1000U);
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector(), y.to_vector())
      << "the gradient is 0 exactly where the value was, and 2 elsewhere";
  EXPECT_EQ(thread_state().random_index, index);
  EXPECT_FALSE(thread_state().recomputing);
}

TEST(Checkpoint, Nests) {
  auto run = [](int depth) {
    const Tensor x = input();
    auto fn = [](const std::vector<Tensor>& in) { return gelu(mul(in[0], in[0])); };
    auto middle = [&](const std::vector<Tensor>& in) {
      return tanh(depth > 1 ? checkpoint(fn, in) : fn(in));
    };
    sum(depth > 0 ? checkpoint(middle, {x}) : middle({x})).backward();
    return x.grad().to_vector();
  };
  EXPECT_EQ(run(1), run(0));
  EXPECT_EQ(run(2), run(0));
}

TEST(Checkpoint, KeepsOnlyItsInputs) {
  const Tensor x = random_normal({256, 1024}, 1, 1).set_requires_grad();
  auto chain = [](const std::vector<Tensor>& in) {
    Tensor y = in[0];
    for (int i = 0; i < 8; ++i) y = tanh(y);
    return y;
  };
  auto kept = [&](bool checkpointed) {
    const auto before = memory_stats().in_use;
    const Tensor y = checkpointed ? checkpoint(chain, {x}) : chain({x});
    return memory_stats().in_use - before;
  };
  const auto one = x.bytes();
  EXPECT_GE(kept(false), 8 * one);
  EXPECT_LT(kept(true), 2 * one);
}

TEST(Checkpoint, AnInputModifiedAfterForwardIsAnError) {
  Tensor x = ones({3});
  const Tensor w = ones({3}).set_requires_grad();
  const Tensor y = checkpoint([&](const std::vector<Tensor>& in) { return mul(in[0], w); }, {x});
  x.mutable_data<float>()[0] = 2;
  EXPECT_THROW(sum(y).backward(), Error);
}

TEST(Checkpoint, AFunctionThatChangesItsMindIsAnError) {
  const Tensor x = ones({3}).set_requires_grad();
  int calls = 0;
  const Tensor y = checkpoint(
      [&](const std::vector<Tensor>& in) { return ++calls == 1 ? scale(in[0], 2) : sum(in[0]); }, {x});
  EXPECT_THROW(sum(y).backward(), Error);
}

}  // namespace
}  // namespace halftone
