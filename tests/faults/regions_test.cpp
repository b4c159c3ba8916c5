// SPDX-License-Identifier: Apache-2.0
//
// Autocast regions and the copies of weights made in them: faults C1 to C3, C9, C10, C13, C18, C19, E1 and E3
// in every format one may compute in, entered from functions, threads and exceptions.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "faults/support.h"
#include "halftone/nn.h"
#include "halftone/op.h"
#include "halftone/parallel.h"

namespace halftone {
namespace {

std::vector<DType> compute_formats() {
  std::vector<DType> all;
  for (const DType dtype : signed_formats())
    if (dtype != float32 && dtype != float64) all.push_back(dtype);
  return all;
}

class Regions : public testing::TestWithParam<DType> {
 protected:
  DType format() const { return GetParam(); }
  template <class F>
  decltype(auto) region(F&& f) const {
    return amp::autocast(format(), std::forward<F>(f));
  }
};

TEST_P(Regions, AForwardWithoutGradientsRemovesNone) {  // fault C1
  for (const bool inference_first : {false, true}) {
    Tensor w = leaf({1, 1}, 1);
    const Tensor y = region([&] {
      if (inference_first)
        inference([&] { return matmul(ones({1, 1}), w); });
      else
        no_grad([&] { return matmul(ones({1, 1}), w); });
      return matmul(ones({1, 1}), w);
    });
    sum(y).backward();
    EXPECT_EQ(w.grad().item(), 1);
  }
}

TEST_P(Regions, EveryWayToWriteAWeightIsSeen) {  // fault C2
  Tensor w = leaf({1, 1}, 0);
  const Tensor one = ones({1, 1});
  const auto now = [&](const Tensor& weight) { return matmul(one, weight).item(); };
  region([&] {
    EXPECT_EQ(now(w), 0);
    no_grad([&] { add_(w, one); });
    EXPECT_EQ(now(w), 1);
    no_grad([&] { assign_(w, -1.0 * one); });
    EXPECT_EQ(now(w), -1);
    w.mutable_data<float>()[0] = 1;
    EXPECT_EQ(now(w), 1);
    Tensor view = w.detach();
    view.mutable_data<float>()[0] = 0;
    EXPECT_EQ(now(w), 0);
    no_grad([&] { add_(slice(w.detach(), 0, 0, 1), one); });
    EXPECT_EQ(now(transpose(w, 0, 1)), 1);
    EXPECT_EQ(now(reshape(w, {1, 1})), 1);
  });
}

TEST_P(Regions, NoCopyOutlivesTheRegionNorItsUse) {  // faults C3, E1
  Tensor w = leaf({4, 4}, 1);
  const std::int64_t before = memory_stats().in_use;
  region([&] {
    for (int i = 0; i < 200; ++i) {
      no_grad([&] {
        matmul(ones({1, 4}), w);
        matmul(ones({1, 4}), transpose(w, 0, 1));
        matmul(ones({1, 2}), slice(w, 0, 1, 3));
        linear(ones({1, 4}), w);
      });
      ASSERT_LE(w.storage()->casts.size(), 1u);
    }
  });
  EXPECT_TRUE(w.storage()->casts.empty());
  EXPECT_EQ(memory_stats().in_use, before);

  Tensor scalar = leaf({1, 1}, 1);  // one copy, a thousand uses: the gradient is summed in float32
  Tensor total = zeros({1, 1});
  region([&] {
    for (int i = 0; i < 1000; ++i) total = total + matmul(ones({1, 1}), scalar);
  });
  sum(total).backward();
  EXPECT_EQ(scalar.grad().item(), 1000);
}

TEST_P(Regions, ADisabledPartIsFloat32ForwardAndBackward) {  // fault C10
  Tensor w = leaf({1, 1}, 1), inner = leaf({1, 1}, 1);
  const Tensor x = full({4, 1}, 16384);
  region([&] {
    const Tensor y = amp::autocast(float32, [&] { return matmul(x, w); });
    EXPECT_EQ(y.dtype(), float32);
    EXPECT_EQ(y.to_vector(), std::vector<double>(4, 16384));
    backward(y, ones({4, 1}));  // called inside the region, on purpose
    EXPECT_EQ(w.grad().item(), 65536);
    // Enabled again within, disabled around: each op keeps what it had.
    const Tensor z = amp::autocast(float32, [&] {
      const Tensor narrow = region([&] { return matmul(ones({1, 1}), inner); });
      EXPECT_EQ(narrow.dtype(), format());
      return scale(cast(narrow, float32), 1);
    });
    EXPECT_EQ(matmul(ones({1, 1}), inner).dtype(), format()) << "the region goes on";
    z.backward();
  });
  EXPECT_EQ(inner.grad().item(), 1);
}

TEST_P(Regions, EveryExitRestoresTheThread) {  // fault E3
  const auto recurse = [&](const auto& self, int depth) -> void {
    const amp::AutocastScope scope(depth % 2 == 0 ? format() : float32);
    const amp::OverrideScope narrow("softmax", {.result = format()});
    if (depth == 0) throw std::runtime_error("deep inside");
    self(self, depth - 1);
  };
  for (int depth = 0; depth < 4; ++depth)
    EXPECT_THROW(no_grad([&] { with_backend("reference", [&] { recurse(recurse, depth); }); }),
                 std::runtime_error);
  EXPECT_THROW(amp::explain([&] { recurse(recurse, 1); }), std::runtime_error);
  EXPECT_FALSE(thread_state().autocast.has_value());
  EXPECT_EQ(thread_state().overrides, nullptr);
  EXPECT_EQ(thread_state().quantizer, nullptr);
  EXPECT_TRUE(thread_state().grad_enabled);
  EXPECT_EQ(thread_state().backend->name(), "cpu");
  EXPECT_FALSE(CastLog::active());
  EXPECT_EQ(softmax(zeros({2})).dtype(), float32);
  EXPECT_EQ(matmul(ones({1, 1}), ones({1, 1})).dtype(), float32);

  const amp::Casting shared(format());  // one object, entered twice at the same time
  amp::autocast(shared, [&] { amp::autocast(shared, [] {}); });
  EXPECT_FALSE(thread_state().autocast.has_value());
}

TEST_P(Regions, InPlaceKeepsTheFormatOfItsDestination) {  // fault C13
  region([&] {
    for (const DType destination : signed_formats()) {
      const Tensor buffer = zeros({3}, destination), source = full({1}, 1.5, format());
      assign_(slice(buffer, 0, 1, 2), source);
      EXPECT_EQ(buffer.dtype(), destination);
      EXPECT_EQ(buffer.to_vector(), (std::vector<double>{0, 1.5, 0}));
      add_(slice(buffer, 0, 2, 3), source);
      EXPECT_EQ(buffer.to_vector(), (std::vector<double>{0, 1.5, 1.5}));
    }
  });
}

// An op of the user's own, of each policy. It is not registered: `apply` needs no catalogue.
Op twice_op(CastPolicy policy) {
  return elementwise_op({
      .name = "twice",
      .cast = policy,
      .forward = formula<2>([](auto a, auto b) { return a + a + 0 * b; }),
      .gradients = {{formula<1>([](auto dy) { return 2 * dy; }), {Operand::dy}},
                    {formula<1>([](auto dy) { return 0 * dy; }), {Operand::dy}}},
      .examples = {},
  });
}

TEST_P(Regions, UsersOpsDeclareTheirPolicy) {  // fault C18
  struct Case {
    CastPolicy policy;
    DType operands, result;  // of a call with a narrow and a float32 operand
  };
  const DType narrow = format();
  for (const Case& expected : {Case{CastPolicy::compute, narrow, narrow},
                               {CastPolicy::inside_float32, float32, narrow},
                               {CastPolicy::float32, float32, float32},
                               {CastPolicy::widest, float32, float32},
                               {CastPolicy::keep, float32, float32}}) {
    SCOPED_TRACE(to_string(expected.policy));
    const Op op = twice_op(expected.policy);
    Tensor wide = leaf({2}, 0.5), other = leaf({2}, 1, narrow);
    Tensor y;
    const std::vector<CastRecord> log = amp::explain([&] {
      y = region([&] { return apply(op, {wide, other}); });
    });
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].policy, expected.policy);
    EXPECT_EQ(log[0].operands[0].to, expected.operands);
    EXPECT_EQ(y.dtype(), expected.result);
    EXPECT_EQ(y.to_vector(), (std::vector<double>{1, 1}));
    sum(y).backward();
    EXPECT_EQ(wide.grad().to_vector(), (std::vector<double>{2, 2}));
    EXPECT_EQ(other.grad().to_vector(), (std::vector<double>{0, 0}));
    EXPECT_EQ(wide.grad().dtype(), float32);
  }
}

INSTANTIATE_TEST_SUITE_P(In, Regions, testing::ValuesIn(compute_formats()), name_of_format);

TEST(RegionsOfRecipes, AreNoExceptionToAnyOfThis) {  // C1, C2, C10, E3 with operands of 8 to 4 bits, too
  for (const amp::Recipe& recipe : amp::kRecipes) {
    SCOPED_TRACE(recipe.name);
    Tensor w = leaf({1, 1}, 1), disabled = leaf({1, 1}, 1.001f);
    const amp::Casting casting(recipe, {{"w", w}});
    const double off = recipe.operands.forward == "nvfp4" ? 1.0 / 8 : 0;  // its 1 is off by 1/16
    const Tensor one = ones({1, 1}), four = full({4, 1}, 16384);
    Tensor y, z;
    amp::autocast(casting, [&] {
      no_grad([&] { linear(one, w); });
      EXPECT_NEAR(linear(one, w).item(), 1, off);
      no_grad([&] { add_(w, one); });
      EXPECT_NEAR(linear(one, w).item(), 2, 2 * off);
      amp::autocast(casting, [] {});
      y = linear(one, w);
      z = amp::autocast(float32, [&] { return linear(four, disabled); });
    });
    EXPECT_EQ(thread_state().quantizer, nullptr);
    EXPECT_FALSE(thread_state().autocast.has_value());
    EXPECT_EQ(z.to_vector()[0], static_cast<double>(16384 * 1.001f)) << "a disabled part is float32";
    sum(y).backward();
    EXPECT_NEAR(w.grad().item(), 1, off);
    amp::autocast(casting, [&] { sum(z).backward(); });
    EXPECT_EQ(disabled.grad().item(), 65536);
    EXPECT_TRUE(w.storage()->casts.empty());
  }
}

TEST(RegionsOnThreads, EachHasItsOwnAndSharesTheWeights) {  // fault C9, and a copy cache under contention
  Tensor w = leaf({8, 8}, 1);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (const DType dtype : {float16, bfloat16, float8_e5m2, float32})
    threads.emplace_back([&wrong, dtype, w] {
      for (int i = 0; i < 200; ++i) {
        Tensor bias = leaf({8}, 1);
        const Tensor y = amp::autocast(dtype, [&] { return linear(ones({2, 8}), w.detach(), bias); });
        const Tensor z = amp::autocast(dtype, [&] {
          return no_grad([&] { return matmul(ones({2, 8}), w); });
        });
        sum(y).backward();
        wrong += y.dtype() != dtype || y.to_vector()[0] != stored(9, dtype) || z.to_vector()[0] != 8 ||
                 bias.grad().to_vector()[0] != 2;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(w.storage()->casts.empty());
}

TEST(RegionsOnThreads, BackwardOnAnotherThreadHasTheFormatsOfForward) {  // fault C9: 300 * 300 in float16
  for (const DType dtype : {bfloat16, float32, tfloat32}) {
    Tensor w = leaf({1, 1}, 1);
    const Tensor y = amp::autocast(dtype, [&] { return matmul(matmul(ones({1, 1}), w), full({1, 1}, 300)); });
    std::thread([&] { amp::autocast(float16, [&] { scale(sum(y), 300).backward(); }); }).join();
    EXPECT_EQ(w.grad().item(), stored(90000, dtype)) << dtype.name();
  }
}

}  // namespace
}  // namespace halftone
