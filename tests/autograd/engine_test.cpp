// SPDX-License-Identifier: Apache-2.0
#include "autograd/engine.h"

#include <gmock/gmock.h>

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

Tensor leaf(std::initializer_list<double> values, DType dtype = float32) {
  return from_values(values, dtype).set_requires_grad();
}

TEST(Engine, FanInOfANarrowTensorIsSummedInFloat32) {
  // One bfloat16 activation used 1000 times: a sum in its own format would stop at 256.
  const Tensor w = leaf({1});
  const Tensor x = cast(w, bfloat16);
  Tensor total = sum(x);
  for (int i = 1; i < 1000; ++i) total = total + sum(x);
  total.backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

// A sum in float32 would have no room for these.
TEST(Engine, FanInOfAFormatBeyondFloat32IsSummedInFloat64) {
  const auto gradient = [](const char* format, double inner, std::initializer_list<double> uses) {
    const Tensor w = leaf({1}), x = scale(cast(w, find_dtype(format)), inner);
    Tensor total;
    for (const double use : uses) total = total ? total + sum(scale(x, use)) : sum(scale(x, use));
    total.backward();
    EXPECT_EQ(w.grad().dtype(), float32);
    return w.grad().item();
  };
  EXPECT_NEAR(gradient("e11m20", 1e-30, {1e50, 1e50}) / 2e20, 1, 1e-5);
  EXPECT_EQ(gradient("e8m40", 1, {1, 0x1p-30, -1}), 0x1p-30);
  const Tensor wide = leaf({1}, find_dtype("e8m40"));
  sum(wide).backward();
  EXPECT_EQ(wide.grad().dtype(), float64);
}

TEST(Engine, AParameterUsedAThousandTimesUnderAutocastHasTheWholeGradient) {
  const Tensor w = from_values(std::vector<double>{1}, {1, 1}).set_requires_grad(), one = ones({1, 1});
  amp::autocast(bfloat16, [&] {
    Tensor total = sum(matmul(one, w));
    for (int i = 1; i < 1000; ++i) total = total + sum(matmul(one, w));
    return total;
  }).backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, MicroBatchesAddUpInFloat32WhateverTheFormatOfTheLeaf) {
  const Tensor w = leaf({1}, bfloat16);
  for (int i = 0; i < 1000; ++i) sum(w).backward();
  EXPECT_EQ(w.grad().dtype(), float32);
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, AWeightGradientOverAThousandRowsIsExact) {
  // (1 x 1000) (1000 x 1) of ones in bfloat16: 1000, not 256.
  const Tensor w = ones({1, 1}).set_requires_grad();
  amp::autocast(bfloat16, [&] { return sum(linear(ones({1000, 1}), w)); }).backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Engine, TheSameTensorTwiceInOneOpGetsBothGradients) {
  const Tensor x = leaf({3});
  mul(x, x).backward();
  EXPECT_EQ(x.grad().item(), 6);
}

TEST(Engine, AGradientSharedByTwoInputsIsNotAddedToTwice) {
  // add hands dy itself to both inputs; a sum in place into one must not show in the other.
  const Tensor a = leaf({1}), b = leaf({1});
  const Tensor y = add(scale(a, 1), scale(b, 1));
  sum(add(y, scale(y, 10))).backward();
  sum(a).backward();
  EXPECT_EQ(a.grad().item(), 12);
  EXPECT_EQ(b.grad().item(), 11);
}

TEST(Engine, GradientsOfADiamondComeInAnyOrderOfUse) {
  const Tensor x = leaf({2});
  const Tensor a = scale(x, 3), b = mul(a, x), c = add(b, a);  // c = 3x^2 + 3x
  c.backward();
  EXPECT_EQ(x.grad().item(), 15);
}

TEST(Engine, BackwardTwiceThroughOneGraphSaysWhatToDo) {
  const Tensor x = leaf({2});
  const Tensor y = mul(x, x);
  y.backward();
  try {
    y.backward();
    FAIL() << "a freed graph was used";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("computing the loss again"), std::string::npos) << e.what();
  }
  EXPECT_EQ(x.grad().item(), 4);
}

TEST(Engine, NeedsAScalarAndAGraph) {
  EXPECT_THROW(ones({1}).backward(), Error);
  EXPECT_THROW(scale(leaf({1, 2}), 2).backward(), ShapeError);
  const Tensor x = leaf({1, 2});
  backward(scale(x, 2), from_values({10, 100}));
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{20, 200}));
}

TEST(Engine, AnOperandModifiedInPlaceAfterForwardIsAnError) {
  Tensor x = leaf({2}), c = from_values({5});
  const Tensor y = mul(x, c);
  add_(c, ones({1}));
  EXPECT_THROW(y.backward(), Error);
}

TEST(Engine, ALongChainNeitherBuildsNorFreesByRecursion) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = scale(y, 1);
  y = Tensor();  // freed without backward
  y = x;
  for (int i = 0; i < 50000; ++i) y = scale(y, 1);
  y.backward();
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Engine, BackwardIsUntouchedByTheAutocastItRunsIn) {
  // The gradient 300 * 300 of an activation is 90112 in bfloat16 and infinite in float16; the region of the
  // forward pass decides.
  auto scalar = [](double value) { return from_values(std::vector<double>{value}, {1, 1}); };
  const Tensor x = scalar(1).set_requires_grad(), w = scalar(300);
  const Tensor loss =
      amp::autocast(bfloat16, [&] { return sum(matmul(matmul(matmul(x, scalar(1)), w), w)); });
  amp::autocast(float16, [&] { loss.backward(); });
  EXPECT_EQ(x.grad().item(), 90112);
}

// y = 2 x; backward notes what it could take, and delivers the total if there was something.
struct Taker {
  std::vector<Tensor> taken;
  std::vector<DType> dtypes;
  Op op{.name = "taker",
        .cast = CastPolicy::keep,
        .keeps = {},
        .forward =
            [](Call& call) {
              auto values = call.inputs[0].to_vector();
              for (double& value : values) value *= 2;
              return from_values(values, call.inputs[0].shape(), call.result);
            },
        .backward =
            [this](BackwardCall& call) {
              taken.push_back(call.gradients.take_sum(0));
              dtypes.push_back(call.gradients.dtype(0));
              std::vector<double> dx = call.gradient.to_vector();
              for (std::size_t i = 0; i < dx.size(); ++i)
                dx[i] = 2 * dx[i] + (taken.back() ? taken.back().to_vector()[i] : 0);
              call.gradients.deliver(0, from_values(dx, call.shapes[0], dtypes.back()));
            },
        .examples = {}};
};

TEST(TakeSum, TheLastConsumerToDeliverRoundsTheTotalItself) {
  Taker taker;
  const Tensor w = leaf({1, 1});
  const Tensor x = cast(w, bfloat16);
  // Visited from the end: scale, the second taker, which is not the last, add, the first taker.
  const Tensor first = apply(taker.op, {x}), second = apply(taker.op, {x});
  sum(add(add(first, second), scale(x, 1.0 / 256))).backward();
  ASSERT_EQ(taker.taken.size(), 2u);
  EXPECT_FALSE(taker.taken[0].defined());
  EXPECT_EQ(taker.dtypes[0], float32);
  EXPECT_EQ(taker.taken[1].to_vector(), (std::vector<double>{2 + 1.0 / 256, 2 + 1.0 / 256}));
  EXPECT_EQ(taker.dtypes[1], bfloat16);
  EXPECT_EQ(w.grad().to_vector(), (std::vector<double>{4, 4}));  // 4 + 1 / 256 in bfloat16, rounded once
}

TEST(TakeSum, NothingIsTakenOfALeafOrOfWhatIsUsedOnceOrTwiceByOneOp) {
  Taker taker;
  const Tensor w = leaf({3});
  const Tensor x = scale(w, 1), y = scale(w, 1);
  sum(add(apply(taker.op, {x}), add(apply(taker.op, {w}), mul(y, y)))).backward();
  ASSERT_EQ(taker.taken.size(), 2u);
  for (const Tensor& taken : taker.taken) EXPECT_FALSE(taken.defined());
  EXPECT_EQ(w.grad().item(), 2 + 2 + 6);
}

TEST(TakeSum, AGradientAskedForInTheMiddleOfTheGraphStaysAFloat32Sum) {
  Taker taker;
  const Tensor w = leaf({1});
  const Tensor x = cast(w, bfloat16);
  const Tensor y = sum(add(apply(taker.op, {x}), scale(x, 1.0 / 256)));
  const Tensor gradient = gradients(y, {x})[0];
  EXPECT_FALSE(taker.taken.at(0).defined());
  EXPECT_EQ(gradient.dtype(), float32);
  EXPECT_EQ(gradient.item(), 2 + 1.0 / 256);
}

TEST(TakeSum, InsideACheckpointItIsTheSumOfTheRecomputedUses) {
  Taker taker;
  const Tensor w = leaf({1});
  const Tensor x = cast(w, bfloat16);
  const auto uses_twice = [&](const std::vector<Tensor>& in) {
    const Tensor first = apply(taker.op, {in[0]});
    return add(first, scale(in[0], 3));
  };
  sum(checkpoint(uses_twice, {x})).backward();
  ASSERT_EQ(taker.taken.size(), 1u);
  ASSERT_TRUE(taker.taken[0].defined());
  EXPECT_EQ(taker.taken[0].item(), 3);
  EXPECT_EQ(w.grad().item(), 5);
}

// A record of the hooks of two leaves, in the order in which they were called.
struct Hooks {
  Tensor w = leaf({2}), v = leaf({5});
  std::vector<std::string> called;
  Hooks() {
    for (const auto& [name, tensor] : {std::pair("w", w), {"v", v}}) {
      set_gradient_hook(tensor, [this, name = std::string(name)] {
        Tensor handle = name == "w" ? w : v;
        called.push_back(name + " " + std::to_string(static_cast<int>(handle.grad().item())));
        handle.zero_grad();
      });
    }
  }
  ~Hooks() { set_gradient_hook(w, {}), set_gradient_hook(v, {}); }
};

using Calls = std::vector<std::string>;

TEST(GradientHook, IsCalledOnceWhenAllUsesHaveBeenVisited) {
  Hooks h;
  // w is used first and last, so that its gradient is complete last: 3 v + 5, with v inside: d/dw = 15 + 1.
  const Tensor a = scale(h.w, 3);
  (mul(a, h.v) + h.w).backward();
  EXPECT_EQ(h.called, (Calls{"v 6", "w 16"}));
  EXPECT_FALSE(h.w.grad().defined());
}

TEST(GradientHook, AnotherBackwardCallsItAgainWithTheSumSoFar) {
  Tensor w = leaf({1});
  std::vector<double> seen;
  set_gradient_hook(w, [&] { seen.push_back(w.grad().item()); });
  scale(w, 2).backward();
  scale(w, 3).backward();
  w.backward();  // a leaf itself
  EXPECT_EQ(seen, (std::vector<double>{2, 5, 6}));
  set_gradient_hook(w, {});
  scale(w, 4).backward();
  EXPECT_EQ(seen.size(), 3u);
}

TEST(GradientHook, IsNotCalledForALeafWithoutAGradient) {
  Hooks h;
  scale(h.w, 2).backward();
  EXPECT_EQ(h.called, Calls{"w 2"});
}

TEST(GradientHook, TheSameLeafTwiceInOneOpIsOneGradient) {
  Hooks h;
  mul(h.w, h.w).backward();
  EXPECT_EQ(h.called, Calls{"w 4"});
}

TEST(GradientHook, WaitsForARecomputation) {
  Hooks h;
  const Tensor x = leaf({7});
  // Within the checkpoint w and v are used twice each, w before and after it too.
  const Tensor y =
      checkpoint([&](const std::vector<Tensor>& in) { return mul(mul(in[0], in[1]), mul(in[1], in[2])); },
                 {x, h.w, h.v});
  mul(y, scale(h.w, 1)).backward();  // 7 w^3 v
  EXPECT_THAT(h.called, ::testing::UnorderedElementsAre("v 56", "w 420"));
}

// A node that stands for a checkpoint: it captures leaves beside its inputs, and makes their uses known only
// in backward.
struct Late : detail::Node {
  Late(std::shared_ptr<detail::Slot> input, std::vector<std::shared_ptr<detail::Slot>> leaves,
       std::function<Tensor()> uses)
      : Node("late", {std::move(input)}), uses(std::move(uses)) {
    captured = std::move(leaves);
  }
  void backward(const Tensor& gradient, Gradients&, detail::Engine& engine) override {
    ThreadStateScope scope;
    thread_state().grad_enabled = true;
    engine.splice(*this, detail::slot_of(uses()), gradient);
  }
  void differentiate(const std::shared_ptr<detail::Slot>&, const Tensor&, detail::GraphGradients&) override {}
  void release() override {}
  std::function<Tensor()> uses;
};

TEST(GradientHook, WaitsForWhatACheckpointCaptured) {
  for (const bool captured : {true, false}) {
    Hooks h;
    const auto late = [&](const Tensor& x, double factor) {
      Tensor y = x.detach();
      std::vector<std::shared_ptr<detail::Slot>> leaves;
      if (captured) leaves = {detail::slot_of(h.w)};
      detail::attach(y, std::make_shared<Late>(detail::slot_of(x), leaves,
                                               [&h, x, factor] { return mul(x, scale(h.w, factor)); }));
      return y;
    };
    const Tensor x = scale(h.v, 1);
    const Tensor first = late(x, 10), second = late(first, 100);
    if (captured) {
      second.backward();  // d/dw of v (10 w) and, with the values of `first`, 5 (100 w)
      EXPECT_EQ(h.called.size(), 2u);
      EXPECT_EQ(h.called[0].substr(0, 1), "w");
    } else {
      EXPECT_THROW(second.backward(), Error);  // never a gradient in two parts
    }
  }
}

TEST(Engine, ASumThatNobodyAskedForIsNotBegun) {
  std::vector<bool> wanted;
  const Op asking{.name = "asking",
                  .cast = CastPolicy::keep,
                  .keeps = {},
                  .forward = [](Call& call) { return call.inputs[0].detach(); },
                  .backward =
                      [&](BackwardCall& call) {
                        EXPECT_FALSE(call.gradients.accumulator(0).defined());
                        wanted.push_back(call.gradients.wanted(0));
                        if (wanted.back()) call.gradients.deliver(0, call.gradient);
                      },
                  .examples = {}};
  const Tensor w = leaf({1}), v = leaf({1});
  EXPECT_EQ(gradients(sum(add(apply(asking, {w}), scale(v, 3))), {v})[0].item(), 3);
  EXPECT_EQ(wanted, std::vector<bool>{false});
}

}  // namespace
}  // namespace halftone
