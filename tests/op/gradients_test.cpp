// SPDX-License-Identifier: Apache-2.0
//
// gradients(): of every op, the gradient as a graph against backward, and its own gradient against central
// differences; and what the function promises whatever the op.
#include "halftone/autograd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halftone/amp.h"
#include "op/examples.h"

namespace halftone {
namespace {

std::vector<Tensor> differentiable(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> found;
  for (const Tensor& x : inputs)
    if (x.requires_grad()) found.push_back(x);
  return found;
}

class EveryGradient : public testing::TestWithParam<const Op*> {
 protected:
  // The gradient of the result depends on the operands even if the op is linear.
  Tensor loss(const Example& example, const std::vector<Tensor>& inputs) const {
    manual_seed(7);
    const Tensor y = apply(*GetParam(), inputs, example.options);
    return weigh(mul(y, y));
  }
};

TEST_P(EveryGradient, IsThatOfBackward) {
  for (const Example& example : GetParam()->examples()) {
    for (const DType compute : {float32, bfloat16, float16}) {
      SCOPED_TRACE(fmt::format("{} in {}", GetParam()->name, compute.name()));
      const std::vector<Tensor> inputs = example_inputs(example, float32);
      const std::vector<Tensor> leaves = differentiable(inputs);
      const auto in_region = [&] { return amp::autocast(compute, [&] { return loss(example, inputs); }); };
      in_region().backward();
      const std::vector<Tensor> plain = gradients(in_region(), leaves);
      std::vector<Tensor> graph;
      try {
        graph = gradients(in_region(), leaves, {.create_graph = true});
      } catch (const Unsupported& e) {
        EXPECT_EQ(GetParam()->differentiate, nullptr);
        EXPECT_NE(std::string(e.what()).find(GetParam()->name), std::string::npos) << e.what();
        continue;
      }
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        EXPECT_EQ(plain[i].to_vector(), leaves[i].grad().to_vector()) << "without a graph: the same bits";
        EXPECT_EQ(graph[i].dtype(), float32);
        EXPECT_TRUE(graph[i].requires_grad());
        // In every region: rounded as there. What is fused rounds other numbers on the way.
        const std::string_view name = GetParam()->name;
        const bool fused =
            (name.ends_with("attention") || name == "linear_cross_entropy") && compute != float32;
        expect_close(graph[i], leaves[i].grad(), fused ? compute : float32, fused ? example.tolerance : 256);
      }
    }
  }
}

TEST_P(EveryGradient, HasAGradientThatMatchesFiniteDifferences) {
  if (!GetParam()->differentiate) return;
  int checked = 0;
  for (Example example : GetParam()->examples()) {
    std::int64_t elements = 0;
    for (const ExampleInput& input : example.inputs) elements += input.shape.count();
    if (elements > 700) continue;  // for the time it takes
    ++checked;
    if (GetParam()->name == "cast") example.options = float64;
    const auto result = gradcheck(
        [&](const std::vector<Tensor>& x) {
          Tensor total = zeros({}, float64);
          for (const Tensor& g : gradients(loss(example, x), differentiable(x), {.create_graph = true}))
            total = add(total, weigh(g));
          return total;
        },
        example_inputs(example, float64));
    EXPECT_LT(result.worst, 1e-5) << GetParam()->name << ": " << result.where;
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryGradient,
                         testing::ValuesIn(registered_ops().begin(), registered_ops().end()),
                         [](const testing::TestParamInfo<const Op*>& info) {
                           return std::string(info.param->name);
                         });

Tensor leaf(std::initializer_list<double> values, DType dtype = float32) {
  return from_values(values, dtype).set_requires_grad();
}

using Values = std::vector<double>;

TEST(Gradients, TouchNoGradOfALeaf) {
  const Tensor x = leaf({2}), w = leaf({3});
  sum(mul(x, w)).backward();
  for (const bool create_graph : {false, true}) {
    const std::vector<Tensor> found = gradients(mul(mul(x, x), w), {w, x}, {create_graph});
    EXPECT_EQ(found[0].item(), 4);   // x^2
    EXPECT_EQ(found[1].item(), 12);  // 2 x w
    EXPECT_EQ(found[0].requires_grad(), create_graph);
  }
  EXPECT_EQ(x.grad().item(), 3);
  EXPECT_EQ(w.grad().item(), 2);
}

TEST(Gradients, AreTakenByTensorsInTheMiddleToo) {
  for (const bool create_graph : {false, true}) {
    const Tensor x = leaf({2});
    const Tensor h = mul(x, x), y = mul(mul(h, h), x);  // h^2 x
    const std::vector<Tensor> found = gradients(y, {h, x, y}, {create_graph});
    EXPECT_EQ(found[0].item(), 16);  // 2 h x
    EXPECT_EQ(found[1].item(), 80);  // 5 x^4
    EXPECT_EQ(found[2].item(), 1);
  }
}

TEST(Gradients, OfWhatDoesNotMatterAreZero) {
  const Tensor x = leaf({2}), other = leaf({5, 6}, bfloat16);
  for (const bool create_graph : {false, true}) {
    const std::vector<Tensor> found = gradients(mul(x, x), {other}, {create_graph});
    EXPECT_EQ(found[0].to_vector(), (Values{0, 0}));
    EXPECT_EQ(found[0].dtype(), float32);
  }
}

TEST(Gradients, RefuseWhatHasNone) {
  const Tensor x = leaf({2, 3});
  EXPECT_THROW(gradients(ones({1}), {x}), Error);
  EXPECT_THROW(gradients(sum(x), {ones({1})}), ValueError);
  EXPECT_THROW(gradients(scale(x, 2), {x}), ShapeError);
  EXPECT_THROW(gradients(scale(x, 2), {x}, {true}, ones({3})), ShapeError);
  const Tensor y = sum(mul(x, x));
  gradients(y, {x});  // consumes the graph
  EXPECT_THROW(gradients(y, {x}), Error);
  EXPECT_THROW(gradients(y, {x}, {.create_graph = true}), Error);
}

TEST(Gradients, WithAGraphLeaveThatOfTheResult) {
  const Tensor x = leaf({2});
  const Tensor y = sum(mul(x, x));
  gradients(y, {x}, {.create_graph = true});
  gradients(y, {x}, {.create_graph = true});
  y.backward();
  EXPECT_EQ(x.grad().item(), 4);
}

TEST(Gradients, CanBeTakenAnyNumberOfTimes) {
  const Tensor x = leaf({1.5}, float64);
  Tensor y = mul(mul(x, x), mul(x, x));
  for (int order = 1; order <= 3; ++order) y = gradients(y, {x}, {.create_graph = true})[0];
  EXPECT_NEAR(y.item(), 24 * 1.5, 1e-12);
  y.backward();
  EXPECT_NEAR(x.grad().item(), 24, 1e-12);
}

TEST(Gradients, TheGivenGradientMayHaveAHistory) {
  // The derivative of J^T v by v, applied to u: J u, that of x -> x^2 is 2 x u.
  const Tensor x = leaf({3, 4}), v = leaf({0, 0});
  const Tensor product = gradients(mul(x, x), {x}, {.create_graph = true}, v)[0];
  EXPECT_EQ(gradients(product, {v}, {}, from_values({1, 10}))[0].to_vector(), (Values{6, 80}));
}

TEST(Gradients, FanInOfANarrowTensorIsSummedInFloat32) {
  const Tensor w = leaf({1});
  const Tensor x = cast(w, bfloat16);
  Tensor total = sum(x);
  for (int i = 1; i < 1001; ++i) total = total + sum(x);
  EXPECT_EQ(gradients(total, {x}, {.create_graph = true})[0].item(), 1001);  // 256 in bfloat16
}

TEST(Gradients, OfUsersOpsMayBeNarrowAndAreSummedInFloat32) {
  const Op same{.name = "same",
                .cast = CastPolicy::compute,
                .keeps = {},
                .forward = [](Call& call) { return call.inputs[0].detach(); },
                .backward = [](BackwardCall& call) { call.gradients.deliver(0, call.gradient); },
                .examples = {},
                .differentiate = [](const DifferentiateCall& call) { return std::vector{call.gradient}; }};
  const Tensor x = leaf({1}, bfloat16);
  Tensor total = sum(apply(same, {x}));
  for (int i = 1; i < 1001; ++i) total = total + sum(apply(same, {x}));
  EXPECT_EQ(gradients(total, {x}, {.create_graph = true})[0].item(), 1001);
}

TEST(Gradients, OfAWeightUnderAutocastAreProductsOfNarrowOperandsSummedInFloat32) {
  // 1001 rows of 1 + 2^-9, which bfloat16 rounds to 1: the sum has ten bits.
  const Tensor w = ones({1, 1}).set_requires_grad();
  const Tensor y = amp::autocast(bfloat16, [&] { return sum(linear(full({1001, 1}, 1 + 0x1p-9), w)); });
  EXPECT_EQ(gradients(y, {w}, {.create_graph = true})[0].item(), 1001);
}

TEST(Gradients, AreUntouchedByTheRegionTheyAreTakenIn) {
  // In bfloat16 the weight, which is the gradient of x, would be 1.
  const Tensor x = ones({1, 1}).set_requires_grad(), w = full({1, 1}, 1 + 0x1p-9);
  for (const bool create_graph : {false, true}) {
    const Tensor y = sum(matmul(x, w));
    amp::autocast(bfloat16, [&] {
      EXPECT_EQ(gradients(y, {x}, {create_graph})[0].item(), 1 + 0x1p-9);
      EXPECT_EQ(thread_state().autocast, bfloat16);
    });
  }
}

TEST(Gradients, NeedSecondDerivativesOnlyOnTheWay) {
  const Tensor x = leaf({0.5}), w = leaf({2}), target = zeros({1});
  const Tensor p = mul(x, w);
  const Tensor y = mul(binary_cross_entropy(x, target), p);
  EXPECT_NO_THROW(gradients(y, {w}, {.create_graph = true}));
  EXPECT_NO_THROW(gradients(y, {p}, {.create_graph = true}));
  try {
    gradients(y, {x}, {.create_graph = true});
    FAIL() << "binary_cross_entropy has no second derivative";
  } catch (const Unsupported& e) {
    EXPECT_EQ(std::string(e.what()).rfind("[binary_cross_entropy]", 0), 0U) << e.what();
  }
}

TEST(Gradients, GoThroughCheckpointsAndTheirParameters) {
  auto run = [](bool checkpointed) {
    const Tensor x = random_normal({4, 5}, 1, 1).set_requires_grad();
    const Tensor w = random_normal({5, 5}, 2, 1).set_requires_grad();
    auto fn = [&](const std::vector<Tensor>& in) { return tanh(matmul(in[0], w)); };
    Tensor y = x;
    for (int i = 0; i < 3; ++i) y = checkpointed ? checkpoint(fn, {y}) : fn({y});
    const std::vector<Tensor> g = gradients(sum(mul(y, y)), {x, w}, {.create_graph = true});
    add(sum(mul(g[0], g[0])), sum(mul(g[1], g[1]))).backward();
    return std::vector<Tensor>{g[0], g[1], x.grad(), w.grad()};
  };
  const std::vector<Tensor> plain = run(false), again = run(true);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again[i].to_vector(), plain[i].to_vector());
  // The second derivatives are the same terms, added in the order in which the parts were recomputed.
  for (std::size_t i = 2; i < 4; ++i) expect_close(again[i], plain[i], float32, 64);
}

TEST(Gradients, OfACapturedParameterAloneGoThroughACheckpoint) {
  const Tensor w = leaf({3});  // nothing that the checkpoint is given needs a gradient
  const Tensor y =
      checkpoint([&](const std::vector<Tensor>& in) { return mul(mul(in[0], w), w); }, {ones({1})});
  const Tensor g = gradients(y, {w}, {.create_graph = true})[0];
  EXPECT_EQ(g.item(), 6);
  EXPECT_EQ(gradients(g, {w})[0].item(), 2);
}

TEST(Gradients, WithoutAGraphGoThroughCheckpoints) {
  const Tensor x = leaf({2}), w = leaf({3}), unused = leaf({1});
  auto fn = [&](const std::vector<Tensor>& in) { return mul(mul(in[0], w), unused); };
  const Tensor y = checkpoint(fn, {mul(x, x)});
  const std::vector<Tensor> found = gradients(y, {w, x});
  EXPECT_EQ(found[0].item(), 4);
  EXPECT_EQ(found[1].item(), 12);
  EXPECT_FALSE(unused.grad());
}

TEST(Gradients, AnOverflowIsAttributed) {
  const Tensor x = leaf({1});
  const NonFiniteWatch watch;
  gradients(mul(div(x, from_values({1e-30})), from_values({1e30})), {x}, {.create_graph = true});
  ASSERT_TRUE(watch.first());
}

TEST(Gradients, HoldNoneThatNobodyAskedFor) {
  const Tensor table = zeros({1024, 256}).set_requires_grad(), h = ones({256}).set_requires_grad();
  const Tensor y = sum(embedding(table, from_values({3}, int32)) * h) + sum(slice(table, 0, 7, 8));
  const auto before = memory_stats().in_use;
  reset_peak_memory();
  EXPECT_EQ(gradients(y, {h})[0].to_vector(), Values(256, 0));
  EXPECT_LT(memory_stats().peak - before, table.bytes());
}

}  // namespace
}  // namespace halftone
