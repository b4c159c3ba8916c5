// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <thread>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/optim.h"
#include "halftone/warning.h"

namespace halftone::amp {
namespace {

Tensor matrix(double value) { return full({1, 1}, value); }
Tensor weight(double value) { return matrix(value).set_requires_grad(); }
std::size_t copies(const Tensor& w) { return w.storage()->casts.size(); }

TEST(Autocast, CastsInsideAndNotOutside) {
  const Tensor w = weight(1);
  EXPECT_EQ(matmul(matrix(1), w).dtype(), float32);
  EXPECT_EQ(autocast(bfloat16, [&] { return matmul(matrix(1), w); }).dtype(), bfloat16);
  EXPECT_EQ(matmul(matrix(1), w).dtype(), float32);
}

TEST(Autocast, ScopesNestAndRestore) {
  const Tensor w = weight(1);
  const auto dtype_now = [&] { return matmul(matrix(1), w).dtype(); };
  autocast(float16, [&] {
    EXPECT_EQ(dtype_now(), float16);
    autocast(bfloat16, [&] { EXPECT_EQ(dtype_now(), bfloat16); });
    autocast(float32, [&] {
      EXPECT_EQ(dtype_now(), float32);
      autocast(float16, [&] { EXPECT_EQ(dtype_now(), float16); });
      EXPECT_EQ(dtype_now(), float32);
    });
    EXPECT_EQ(dtype_now(), float16);
  });
  EXPECT_EQ(dtype_now(), float32);
}

TEST(Autocast, UnwindsOnAnException) {
  const auto fail = [] { autocast(float16, []() -> int { throw std::runtime_error("no"); }); };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_FALSE(thread_state().autocast.has_value());
}

TEST(Autocast, MayBeEnteredRecursively) {  // fault E3
  const std::function<int(int)> descend = [&](int depth) -> int {
    return autocast(depth % 2 == 0 ? float16 : bfloat16, [&] {
      const int below = depth == 0 ? 0 : descend(depth - 1);
      EXPECT_EQ(thread_state().autocast, depth % 2 == 0 ? float16 : bfloat16);
      return below + 1;
    });
  };
  EXPECT_EQ(descend(5), 6);
  EXPECT_FALSE(thread_state().autocast.has_value());
}

TEST(Autocast, Float32IsNoRegionAtAll) {  // fault C19
  const Tensor w = weight(1);
  EXPECT_EQ(autocast(float32, [&] { return matmul(matrix(1), w); }).dtype(), float32);
  EXPECT_EQ(copies(w), 0u);
}

TEST(Autocast, NeedsAFloatingFormat) { EXPECT_THROW(AutocastScope scope(int32), DTypeError); }

TEST(Autocast, ReturnsReferences) {
  int value = 1;
  autocast(float16, [&]() -> int& { return value; }) = 2;
  EXPECT_EQ(value, 2);
}

TEST(Autocast, AForwardUnderNoGradDoesNotRemoveLaterGradients) {  // fault C1
  Tensor w = weight(3);
  const Tensor y = autocast(bfloat16, [&] {
    no_grad([&] { return matmul(matrix(1), w); });
    return matmul(matrix(1), w);
  });
  sum(y).backward();
  EXPECT_EQ(w.grad().item(), 1);
}

TEST(Autocast, SeesAWriteInsideTheRegion) {  // law 6, fault C2
  Tensor w = weight(1);
  autocast(bfloat16, [&] {
    EXPECT_EQ(matmul(matrix(1), w).item(), 1);
    no_grad([&] { add_(w, matrix(1)); });
    EXPECT_EQ(matmul(matrix(1), w).item(), 2);
    w.mutable_data<float>()[0] = 5;
    EXPECT_EQ(matmul(matrix(1), w).item(), 5);
    no_grad([&] { assign_(w, matrix(7)); });
    EXPECT_EQ(matmul(matrix(1), transpose(w, 0, 1)).item(), 7);
  });
}

TEST(Autocast, KeepsAtMostOneCopyOfAWeightAndNoneAfterwards) {  // fault C3
  const Tensor w = weight(1);
  const std::int64_t before = memory_stats().in_use;
  autocast(bfloat16, [&] {
    for (int i = 0; i < 1000; ++i) {
      no_grad([&] { return matmul(matrix(1), transpose(w, 0, 1)); });
      ASSERT_LE(copies(w), 1u);
      no_grad([&] { return matmul(matrix(1), w); });
      ASSERT_EQ(copies(w), 1u);
    }
  });
  EXPECT_EQ(copies(w), 0u);
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(Autocast, CastsAWeightOnceAndSumsItsGradientInFloat32) {  // fault E1
  Tensor w = weight(1);
  const Tensor one = matrix(1);
  const Tensor total = autocast(bfloat16, [&] {
    Tensor sum_of_uses = zeros({1, 1});
    for (int i = 0; i < 1000; ++i) sum_of_uses = sum_of_uses + matmul(one, w);
    return sum_of_uses;
  });
  EXPECT_EQ(total.item(), 1000);
  sum(total).backward();
  EXPECT_EQ(w.grad().item(), 1000);
}

TEST(Autocast, BackwardUsesTheForwardFormatOnAnyThread) {  // fault C9: 300 * 300 is infinite in float16
  Tensor w = weight(1);
  const Tensor y = autocast(bfloat16, [&] { return matmul(matmul(matrix(1), w), weight(300)); });
  std::thread([&] { sum(scale(y, 300)).backward(); }).join();
  EXPECT_EQ(w.grad().item(), 90112);
}

TEST(Autocast, BackwardOfAFloat32PartIsFloat32InsideAnyRegion) {  // fault C10
  Tensor w = weight(1);
  autocast(float16, [&] {
    const Tensor y = autocast(float32, [&] { return matmul(ones({4, 1}), w); });
    backward(y, full({4, 1}, 16384));
  });
  EXPECT_EQ(w.grad().item(), 65536);
}

TEST(Autocast, CopiesThatAnOptimizerKeepsStay) {
  Tensor w = weight(1);
  {
    optim::SGD optimizer({{"w", w}}, {.lr = 1});
    sum(autocast(bfloat16, [&] { return matmul(matrix(1), w); })).backward();
    EXPECT_EQ(copies(w), 1u);
    optimizer.step();
    EXPECT_EQ(copies(w), 1u);
    EXPECT_EQ(autocast(bfloat16, [&] { return matmul(matrix(1), w); }).item(), 0);
  }
  EXPECT_EQ(copies(w), 0u);
}

TEST(Override, AnOpCanBeGivenAnotherPolicyOrResult) {
  const Tensor x = full({1, 2}, 300);
  autocast(float16, [&] {
    EXPECT_EQ(softmax(x).dtype(), float32);
    override_cast("softmax", {.policy = CastPolicy::inside_float32}, [&] {
      EXPECT_EQ(softmax(x).dtype(), float16);
      EXPECT_EQ(log_softmax(x).dtype(), float32);
      override_cast("softmax", {.policy = CastPolicy::float32},
                    [&] { EXPECT_EQ(softmax(x).dtype(), float32); });
      EXPECT_EQ(softmax(x).dtype(), float16);
    });
    // fault D5: the row that overflows float16, kept in float32
    const Tensor w = full({1, 2}, 150);
    EXPECT_EQ(linear(x, w).item(), kInf);
    override_cast("linear", {.result = float32}, [&] { EXPECT_EQ(linear(x, w).item(), 90000); });
  });
  EXPECT_EQ(thread_state().overrides, nullptr);
}

TEST(Override, HoldsInBackwardAndRecomputation) {
  const auto gradient = [](bool with_checkpoint) {
    Tensor w = full({1, 2}, 150).set_requires_grad();
    const Tensor x = full({1, 2}, 300);
    const auto f = [&](const std::vector<Tensor>& in) { return scale(sum(linear(in[0], w)), 1e-3); };
    const Tensor loss = autocast(float16, [&] {
      return override_cast("linear", {.result = float32},
                           [&] { return with_checkpoint ? checkpoint(f, {x}) : f({x}); });
    });
    EXPECT_EQ(loss.dtype(), float32);
    backward(loss);
    return w.grad().to_vector();
  };
  EXPECT_NEAR(gradient(false)[0], 0.3, 1e-6);
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST(Override, RefusesWhatDoesNotExist) {
  EXPECT_THROW(OverrideScope("sotfmax", {}), ValueError);
  EXPECT_THROW(OverrideScope("softmax", {.result = int32}), DTypeError);
  EXPECT_EQ(thread_state().overrides, nullptr);
}

TEST(Autocast, WarnsOnceOfAModelConvertedByHand) {
  std::vector<std::string> seen;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { seen.push_back(text); });
  const Tensor x = full({1, 1}, 1);
  Tensor narrow = full({1, 1}, 1, float16).set_requires_grad();
  linear(x, narrow);
  autocast(float16, [&] {
    no_grad([&] { linear(x, narrow); });  // to be evaluated, not trained
    linear(x, weight(1));
    EXPECT_TRUE(seen.empty());
    linear(x, narrow);
    linear(x, narrow);
  });
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_THAT(seen[0], ::testing::HasSubstr("a weight stored in float16"));
  EXPECT_THAT(seen[0], ::testing::HasSubstr("MasterWeights::float32_copy"));
  set_warning_handler([&](const std::string& text) { seen.push_back(text); });
  const optim::SGD optimizer({{"w", narrow}});  // has a float32 master now
  autocast(float16, [&] { linear(x, narrow); });
  EXPECT_EQ(seen.size(), 1u);
  set_warning_handler(before);
}

}  // namespace
}  // namespace halftone::amp
