// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "autograd/node.h"
#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/nn.h"
#include "halftone/op.h"
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

// C7: the narrow copy of the weight that the forward pass left behind changes nothing.
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
  // C6: 70000 is 70144 in bfloat16 and infinite in float16.
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
  // D26: momentum 0.5 and a column of 0 and 4: the running mean is 1 after the forward pass and stays 1.
  nn::BatchNorm norm(1, 0.5);
  const Tensor x = from_values(std::vector<double>{0, 4}, {2, 1}).set_requires_grad();
  const Tensor y = checkpoint([&](const std::vector<Tensor>& in) { return norm(in[0]); }, {x});
  EXPECT_EQ(norm.running_mean.value.item(), 1);
  sum(mul(y, y)).backward();
  EXPECT_EQ(norm.running_mean.value.item(), 1);
}

// D27.
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

std::string error_of(const std::function<Tensor(const std::vector<Tensor>&, int call)>& fn) {
  const Tensor x = ones({3}).set_requires_grad();
  int calls = 0;
  const Tensor y = checkpoint([&](const std::vector<Tensor>& in) { return fn(in, ++calls); }, {x});
  const std::uint64_t before = thread_state().random_index;
  try {
    backward(y, ones(y.shape(), y.dtype()));
  } catch (const Error& e) {
    EXPECT_EQ(thread_state().random_index, before);
    return e.what();
  }
  return "";
}

TEST(Checkpoint, AFunctionThatChangesItsMindIsAnErrorThatNamesTheOp) {
  auto given = [](const std::string& message) { return message.substr(0, message.find(';')); };
  EXPECT_EQ(given(error_of([](const auto& in, int call) {
              const Tensor y = dropout(scale(scale(in[0], 2), 3), 0.5);
              return call == 1 ? relu(y) : gelu(y);
            })),
            "[checkpoint] recomputing ran 'gelu' as op 4 where the forward pass ran 'relu'");
  EXPECT_EQ(given(error_of(
                [](const auto& in, int call) { return call == 1 ? scale(in[0], 2) : exp(scale(in[0], 2)); })),
            "[checkpoint] recomputing ran 'exp' as op 2 where the forward pass had ended");
  EXPECT_EQ(given(error_of(
                [](const auto& in, int call) { return call == 1 ? exp(scale(in[0], 2)) : scale(in[0], 2); })),
            "[checkpoint] recomputing ended after 1 ops where the forward pass ran 'exp' as op 2");
  EXPECT_EQ(
      given(error_of(
          [](const auto& in, int call) { return scale(cast(in[0], call == 1 ? bfloat16 : float16), 2); })),
      "[checkpoint] recomputing 'cast', op 1, gave float16 (3) where the forward pass gave bfloat16 (3)");
  EXPECT_EQ(
      given(error_of([](const auto& in, int call) { return sum(slice(in[0], 0, 0, call == 1 ? 2 : 3)); })),
      "[checkpoint] recomputing 'slice', op 1, gave float32 (3) where the forward pass gave float32 (2)");
  EXPECT_EQ(error_of([](const auto& in, int) { return relu(scale(in[0], 2)); }), "");
}

TEST(Checkpoint, AFunctionThatReturnsAnotherTensorIsAnError) {
  const Tensor other = ones({2}).set_requires_grad();
  EXPECT_NE(error_of([&](const auto& in, int call) { return call == 1 ? in[0] : other; }), "");
}

TEST(Checkpoint, TensorsOfTheGraphThatTheFunctionCapturesAreLikeInputs) {
  // h is used inside and outside: both gradients must reach it in float32 before its own are computed.
  auto run = [](bool checkpointed) {
    const Tensor w = input();
    return amp::autocast(bfloat16, [&] {
      const Tensor h = gelu(w);
      auto inside = [&](const std::vector<Tensor>& in) { return mul(sigmoid(in[0]), tanh(h)); };
      const Tensor x = scale(w, 0.5);
      const Tensor y = checkpointed ? checkpoint(inside, {x}) : inside({x});
      sum(add(y, exp(h))).backward();
      return w.grad().to_vector();
    });
  };
  EXPECT_EQ(run(true), run(false));
}

// What the node knows of the parameters behind it, for those who wait for a gradient to be complete.
TEST(Checkpoint, TheNodeNamesTheLeavesThatItsFunctionCaptures) {
  const Tensor x = input(), w = random_normal({6, 6}, 2, 1).set_requires_grad();
  const Tensor v = random_normal({6, 6}, 3, 1).set_requires_grad();
  auto inner = [&](const std::vector<Tensor>& in) { return matmul(in[0], v); };
  const Tensor y = checkpoint(
      [&](const std::vector<Tensor>& in) {
        const Tensor h = matmul(matmul(in[0], w), w);
        return add(h, checkpoint(inner, {in[0]}));
      },
      {x});
  const auto& captured = detail::slot_of(y)->producer->captured;
  ASSERT_EQ(captured.size(), 2U);
  EXPECT_EQ(captured[0], detail::slot_of(w));
  EXPECT_EQ(captured[1], detail::slot_of(v));
}

TEST(Checkpoint, KeptResultsAreNotComputedAgain) {
  int runs = 0;
  const Op counting{
      .name = "counting",
      .cast = CastPolicy::keep,
      .keeps = {Operand::x0},
      .forward =
          [&](Call& call) {
            ++runs;
            take_random(7);
            call.saved = {full({1}, 5)};
            Tensor y(call.inputs[0].shape(), call.result);
            call.backend.copy(call.inputs[0], y);
            return y;
          },
      .backward =
          [](BackwardCall& call) { call.gradients.deliver(0, scale(call.gradient, call.saved[0].item())); },
      .examples = {}};
  auto run = [&](const std::vector<std::string>& keep) {
    manual_seed(4);
    runs = 0;
    const Tensor x = ones({100}).set_requires_grad();
    auto fn = [&](const std::vector<Tensor>& in) {
      return dropout(relu(apply(counting, {scale(in[0], 2)})), 0.5);
    };
    const Tensor y = checkpoint(fn, {x}, {.keep = keep});
    sum(mul(y, y)).backward();
    EXPECT_EQ(thread_state().random_index, 107U);
    return std::pair(runs, x.grad().to_vector());
  };
  const auto all = run({}), some = run({"counting", "no_such_op"}), two = run({"counting", "dropout"});
  EXPECT_EQ(all.first, 2);
  EXPECT_EQ(some.first, 1);
  EXPECT_EQ(some.second, all.second);
  EXPECT_EQ(two.second, all.second);
}

TEST(Checkpoint, AKeptResultModifiedInPlaceIsAnError) {
  Tensor kept;
  const Tensor x = ones({3}).set_requires_grad();
  const Tensor y = checkpoint(
      [&](const std::vector<Tensor>& in) {
        kept = scale(in[0], 2);
        return relu(kept);
      },
      {x}, {.keep = {"scale"}});
  kept.mutable_data<float>()[0] = 9;
  try {
    sum(y).backward();
    FAIL() << "a modified result was used";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'scale', op 1"), std::string::npos) << e.what();
  }
}

// C8: a wrapper that casts, inside the region that is recomputed: float32 in, bfloat16 to compute in.
TEST(Checkpoint, CastsOfAWrapperInsideAreRepeated) {
  const Tensor w = random_normal({6, 6}, 2, 1).set_requires_grad();
  auto run = [&](bool checkpointed) {
    Tensor(w).zero_grad();
    const Tensor x = input();
    auto layer = [&](const Tensor& in) { return relu(matmul(in, w)); };
    auto wrapper = [&](const std::vector<Tensor>& in) {
      return amp::autocast(bfloat16, [&] { return cast(layer(cast(in[0], bfloat16)), float32); });
    };
    const Tensor y = checkpointed ? checkpoint(wrapper, {x}) : wrapper({x});
    sum(mul(y, y)).backward();
    return std::vector{y.to_vector(), x.grad().to_vector(), w.grad().to_vector()};
  };
  EXPECT_EQ(run(true), run(false));
}

// C9: backward on a thread that knows nothing of the region of the forward pass. 300 * 300 is 90112 in
// bfloat16, infinite in float16, and the gradient is computed from it.
TEST(Checkpoint, RecomputesOnAnyThreadAsInTheForwardPass) {
  auto run = [](bool elsewhere) {
    const Tensor x = full({8, 1}, 300).set_requires_grad(), w = full({1, 8}, 300);
    manual_seed(8);
    const Tensor y = amp::autocast(bfloat16, [&] {
      auto fn = [&](const std::vector<Tensor>& in) {
        const Tensor product = matmul(in[0], w);
        EXPECT_EQ(product.to_vector()[0], 90112);
        return dropout(mul(product, product), 0.5);
      };
      return checkpoint(fn, {x});
    });
    const Tensor loss = sum(y);
    const auto index = thread_state().random_index;
    if (!elsewhere) {
      loss.backward();
    } else {
      std::thread([&] {
        const amp::AutocastScope region(float16);
        manual_seed(1234);
        loss.backward();
        EXPECT_EQ(thread_state().random_index, 0U);
        EXPECT_EQ(thread_state().seed, 1234U);
        EXPECT_EQ(thread_state().autocast, float16);
      }).join();
    }
    EXPECT_EQ(thread_state().random_index, index);
    return x.grad().to_vector();
  };
  const std::vector<double> here = run(false);
  EXPECT_GT(*std::max_element(here.begin(), here.end()), 0);
  for (const double g : here) EXPECT_TRUE(std::isfinite(g));
  EXPECT_EQ(run(true), here);
}

// A stack of layers, in parts of one or more: what the whole step holds at its peak.
TEST(Checkpoint, ThePeakOfADeepNetworkFalls) {
  constexpr int kLayers = 16;
  std::vector<nn::Linear> layers;
  for (int i = 0; i < kLayers; ++i) layers.emplace_back(32, 32);
  const Tensor x = random_normal({512, 32}, 1, 1);
  auto peak = [&](int part, const std::vector<std::string>& keep) {
    for (auto& layer : layers)
      for (Tensor t : {layer.weight, layer.bias}) t.zero_grad();
    const auto before = memory_stats().in_use;
    reset_peak_memory();
    Tensor y = x;
    for (int i = 0; i < kLayers; i += std::max(part, 1)) {
      auto fn = [&layers, i, part](const std::vector<Tensor>& in) {
        Tensor h = in[0];
        for (int k = i; k < i + std::max(part, 1); ++k) h = gelu(layers[static_cast<std::size_t>(k)](h));
        return h;
      };
      y = part > 0 ? checkpoint(fn, {y}, {.keep = keep}) : fn({y});
    }
    sum(mul(y, y)).backward();
    return static_cast<double>(memory_stats().peak - before) / static_cast<double>(x.bytes());
  };
  const double plain = peak(0, {}), each = peak(1, {}), four = peak(4, {}), keeping = peak(4, {"linear"});
  EXPECT_GT(plain, 32);    // the result of every linear and every gelu
  EXPECT_LT(each, 22);     // of every gelu
  EXPECT_LT(four, 15);     // of every fourth, and the inside of one part
  EXPECT_LT(keeping, 28);  // and of every linear
  EXPECT_GT(keeping, four);
}

TEST(Checkpoint, AnOptionalInputMayBeUndefined) {
  const Tensor x = ones({2, 3}).set_requires_grad(), w = ones({4, 3});
  auto fn = [&](const std::vector<Tensor>& in) { return linear(in[0], w, in[1]); };
  sum(checkpoint(fn, {x, Tensor()})).backward();
  EXPECT_EQ(x.grad().to_vector(), std::vector<double>(6, 4));
}

TEST(Checkpoint, OfConstantsIsAConstant) {
  const Tensor x = ones({2}), w = ones({2}).set_requires_grad();
  EXPECT_FALSE(checkpoint([](const auto& in) { return scale(in[0], 2); }, {x}).requires_grad());
  sum(checkpoint([&](const auto&) { return w; }, {x})).backward();  // a leaf that no op uses is none
  EXPECT_EQ(w.grad().to_vector(), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace halftone
