// SPDX-License-Identifier: Apache-2.0
//
// linear_cross_entropy against the definition written out in double, and against linear and cross_entropy;
// what it holds in memory; several chunks; every recipe, checkpoints, threads, accumulation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "halftone/amp.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"

namespace halftone {
namespace {

using Values = std::vector<double>;

struct Problem {
  Tensor x, weight, targets;
  CrossEntropyOptions options{};
};

Problem problem(std::int64_t rows, std::int64_t width, std::int64_t classes, DType dtype = float32) {
  Tensor targets({rows}, int32);
  for (std::int64_t i = 0; i < rows; ++i)
    targets.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % classes);
  return {random_normal({rows, width}, 1, 1, dtype).set_requires_grad(),
          random_normal({classes, width}, 1, 2, dtype).set_requires_grad(), targets};
}

void ignore(const Problem& p, std::int64_t begin, std::int64_t end) {
  Tensor targets = p.targets;
  std::fill_n(targets.mutable_data<std::int32_t>() + begin, end - begin, p.options.ignore_index);
}

struct Outcome {
  double loss = 0;
  Values dx, dweight;
};

// The definition of the loss and its derivatives.
Outcome expected(const Problem& p) {
  const Values x = p.x.to_vector(), w = p.weight.to_vector(), target = p.targets.to_vector();
  const std::size_t rows = target.size(), width = x.size() / rows, classes = w.size() / width;
  const double e = p.options.label_smoothing, z = p.options.z_loss;
  const auto counting = static_cast<double>(
      std::count_if(target.begin(), target.end(), [&](double t) { return t != p.options.ignore_index; }));
  Outcome out{0, Values(x.size()), Values(w.size())};
  Values logits(classes);
  for (std::size_t row = 0; row < rows; ++row) {
    if (target[row] == p.options.ignore_index) continue;
    double sum = 0, mean = 0;
    for (std::size_t j = 0; j < classes; ++j) {
      logits[j] = 0;
      for (std::size_t i = 0; i < width; ++i) logits[j] += x[row * width + i] * w[j * width + i];
      sum += std::exp(logits[j]);
      mean += logits[j] / static_cast<double>(classes);
    }
    const double l = std::log(sum);
    const auto t = static_cast<std::size_t>(target[row]);
    out.loss += (l - (1 - e) * logits[t] - e * mean + z * l * l) / counting;
    for (std::size_t j = 0; j < classes; ++j) {
      const double q = (j == t ? 1 - e : 0) + e / static_cast<double>(classes);
      const double d = (std::exp(logits[j]) / sum * (1 + 2 * z * l) - q) / counting;
      for (std::size_t i = 0; i < width; ++i) {
        out.dx[row * width + i] += d * w[j * width + i];
        out.dweight[j * width + i] += d * x[row * width + i];
      }
    }
  }
  return out;
}

Tensor loss_of(const Problem& p) { return linear_cross_entropy(p.x, p.weight, p.targets, p.options); }
Tensor composite(const Problem& p) { return cross_entropy(linear(p.x, p.weight), p.targets, p.options); }

Outcome run(Problem p, const std::function<Tensor(const Problem&)>& f = loss_of) {
  p.x.zero_grad(), p.weight.zero_grad();
  const Tensor loss = f(p);
  loss.backward();
  return {loss.item(), p.x.grad().to_vector(), p.weight.grad().to_vector()};
}

// |a - b| / |b| of the vectors.
double distance(const Values& a, const Values& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    difference += (a[i] - b[i]) * (a[i] - b[i]), length += b[i] * b[i];
  return std::sqrt(difference / length);
}

void expect_near(const Outcome& got, const Outcome& exact, double tolerance) {
  EXPECT_NEAR(got.loss / exact.loss, 1, tolerance);
  EXPECT_LT(distance(got.dx, exact.dx), tolerance);
  EXPECT_LT(distance(got.dweight, exact.dweight), tolerance);
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.dx, b.dx);
  EXPECT_EQ(a.dweight, b.dweight);
}

constexpr CrossEntropyOptions kOptions[] = {
    {}, {.label_smoothing = 0.1}, {.z_loss = 0.01}, {.ignore_index = 2, .label_smoothing = 0.3, .z_loss = 1}};

TEST(LinearCrossEntropy, IsWhatItsDefinitionSays) {
  for (const CrossEntropyOptions& options : kOptions)
    for (const DType dtype : {float32, float64, find_dtype("e8m40"), find_dtype("e11m20")}) {
      Problem p = problem(90, 12, 37, dtype);
      p.options = options;
      ignore(p, 3, 9);
      EXPECT_EQ(loss_of(p).dtype(), dtype == float64 ? float64 : float32);
      expect_near(run(p), expected(p), dtype == float64 ? 1e-12 : 1e-6);
    }
}

TEST(LinearCrossEntropy, HasTheGradientOfFiniteDifferences) {
  for (const CrossEntropyOptions& options : kOptions) {
    Problem p = problem(5, 4, 3, float64);
    p.options = options;
    const auto result = gradcheck(
        [&](const std::vector<Tensor>& in) {
          return linear_cross_entropy(in[0], in[1], p.targets, p.options);
        },
        {p.x, p.weight});
    EXPECT_LT(result.worst, 1e-8) << result.where;
  }
}

constexpr std::int64_t kManyClasses = (1 << 18) + 3;  // few rows make a chunk

TEST(LinearCrossEntropy, IsTheSameInSeveralChunks) {
  Problem p = problem(150, 2, kManyClasses);
  p.options = {.label_smoothing = 0.1, .z_loss = 1e-3};
  ignore(p, 60, 70);
  expect_near(run(p), expected(p), 1e-5);
}

TEST(LinearCrossEntropy, SkipsChunksThatAreIgnored) {
  for (const std::int64_t begin : {0, 128}) {  // the first chunk, or all others
    Problem p = problem(200, 2, kManyClasses);
    const std::int64_t end = begin == 0 ? 128 : 200;
    ignore(p, begin, end);
    // What is not looked at has no influence: a number times 0 would be NaN.
    std::fill_n(p.x.mutable_data<float>() + 2 * begin, 2 * (end - begin), NAN);
    const Outcome out = run(p);
    EXPECT_TRUE(std::isfinite(out.loss));
    for (const double v : out.dweight) ASSERT_TRUE(std::isfinite(v));
    for (std::int64_t i = 2 * begin; i < 2 * end; ++i) EXPECT_EQ(out.dx[static_cast<std::size_t>(i)], 0);
  }
}

TEST(LinearCrossEntropy, OfNothingButIgnoredRowsIsZero) {
  const Problem p = problem(70, 5, 11);
  ignore(p, 0, 70);
  expect_same(run(p), {0, Values(70 * 5), Values(11 * 5)});
}

// Bytes that the allocator gave out at a time while f ran.
std::int64_t peak_of(const std::function<void()>& f) {
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  f();
  return memory_stats().peak - before;
}

TEST(LinearCrossEntropy, NeverHoldsAllLogits) {
  const Problem p = problem(1024, 2, kManyClasses);
  const std::int64_t all = 1024 * kManyClasses * 4;
  EXPECT_LT(peak_of([&] { loss_of(p).backward(); }), all / 4);
  EXPECT_LT(peak_of([&] { inference([&] { loss_of(p); }); }), all / 4);
}

TEST(LinearCrossEntropy, HoldsTheGradientOfTheWeightOnce) {
  const Problem p = problem(64, 1024, 4096);
  const std::int64_t weight = p.weight.bytes();  // logits are a sixteenth
  const std::int64_t trained = peak_of([&] { loss_of(p).backward(); });
  EXPECT_GE(trained, weight);
  EXPECT_LT(trained, 3 * weight / 2);
  EXPECT_LT(peak_of([&] { inference([&] { loss_of(p); }); }), weight / 2) << "without a graph: not at all";
}

TEST(LinearCrossEntropy, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads = thread_count();
  const Problem p = problem(300, 48, 5000);
  for (const amp::Recipe& recipe : amp::kRecipes) {
    Outcome out[2];
    for (const int count : {1, 2}) {
      set_thread_count(count);
      manual_seed(3);
      out[count - 1] = amp::autocast(amp::Casting(recipe), [&] { return run(p); });
    }
    SCOPED_TRACE(recipe.name);
    expect_same(out[0], out[1]);
  }
  set_thread_count(threads);
}

TEST(LinearCrossEntropy, InEveryRecipeIsAboutWhatLinearAndCrossEntropyAre) {
  Problem p = problem(96, 64, 200);
  p.x = scale(p.x, 0.125).detach().set_requires_grad();
  const Outcome exact = expected(p);
  for (const amp::Recipe& recipe : amp::kRecipes) {
    SCOPED_TRACE(recipe.name);
    manual_seed(3);
    const amp::Casting casting(recipe);
    const auto inside = [&](const auto& f) {
      return run(p, [&](const Problem& q) {
        const Tensor loss = amp::autocast(casting, [&] { return f(q); });
        EXPECT_EQ(loss.dtype(), float32);
        return loss;
      });
    };
    const Outcome fused = inside(loss_of), other = inside(composite);
    const auto worse = [&](auto field) {
      return distance(fused.*field, exact.*field) / (distance(other.*field, exact.*field) + 1e-6);
    };
    EXPECT_LT(std::abs(fused.loss - exact.loss), 1.2 * std::abs(other.loss - exact.loss) + 1e-3);
    EXPECT_LT(worse(&Outcome::dx), 1.2);
    EXPECT_LT(worse(&Outcome::dweight), 1.2);
  }
}

TEST(LinearCrossEntropy, UnderCheckpointHasTheSameBits) {
  const Problem p = problem(96, 64, 200);
  for (const amp::Recipe& recipe : amp::kRecipes)
    for (const std::vector<std::string>& keep : {std::vector<std::string>{}, {"linear_cross_entropy"}}) {
      SCOPED_TRACE(fmt::format("{}, keeps {}", recipe.name, keep.size()));
      const amp::Casting casting(recipe);
      const auto trained = [&](bool checkpointed) {
        manual_seed(3);
        Outcome out = run(p, [&](const Problem& q) {
          return amp::autocast(casting, [&] {
            const auto f = [&, q](const std::vector<Tensor>& in) {
              return linear_cross_entropy(dropout(in[0], 0.1), q.weight, q.targets);
            };
            return checkpointed ? checkpoint(f, {q.x}, {keep}) : f({q.x});
          });
        });
        out.dx.push_back(static_cast<double>(thread_state().random_index));
        return out;
      };
      expect_same(trained(true), trained(false));
    }
}

TEST(LinearCrossEntropy, AddsToTheGradientThatIsThere) {
  for (const DType compute : {float32, bfloat16, float16}) {
    const Problem first = problem(70, 8, 30);
    Problem second = problem(40, 8, 30);
    second.weight = first.weight;
    const auto in_region = [&](const Problem& p) {
      return amp::autocast(compute, [&] { return loss_of(p); });
    };
    const Outcome a = run(first, in_region), b = run(second, in_region);
    Tensor weight = first.weight;
    weight.zero_grad();
    in_region(first).backward();
    in_region(second).backward();
    const Values sum = weight.grad().to_vector();
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(sum[i], a.dweight[i] + b.dweight[i], 1e-6) << compute.name();
  }
}

TEST(LinearCrossEntropy, AHeadThatIsTheEmbeddingGetsBothGradients) {
  Tensor table = random_normal({30, 8}, 1, 1).set_requires_grad();
  const Tensor tokens = problem(20, 1, 30).targets, targets = problem(20, 1, 7).targets;
  Values gradients[2];
  for (const bool fused : {false, true}) {
    table.zero_grad();
    const Tensor x = embedding(table, tokens);
    (fused ? linear_cross_entropy(x, table, targets) : cross_entropy(linear(x, table), targets)).backward();
    gradients[fused] = table.grad().to_vector();
  }
  EXPECT_LT(distance(gradients[1], gradients[0]), 1e-6);
}

TEST(LinearCrossEntropy, AFactorOnTheLossIsOneOnTheGradients) {
  const Problem p = problem(70, 8, 30);
  for (const DType compute : {float32, bfloat16, float16}) {
    const auto scaled = [&](double factor) {
      return run(p, [&](const Problem& q) {
        return scale(amp::autocast(compute, [&] { return loss_of(q); }), factor);
      });
    };
    const Outcome once = scaled(1), more = scaled(0x1p20);
    for (std::size_t i = 0; i < once.dweight.size(); ++i)
      ASSERT_EQ(more.dweight[i], 0x1p20 * once.dweight[i]) << compute.name();
    for (std::size_t i = 0; i < once.dx.size(); ++i) ASSERT_EQ(more.dx[i], 0x1p20 * once.dx[i]);
  }
}

TEST(LinearCrossEntropy, Float16KeepsSmallProbabilitiesWithoutALossScale) {
  // Each of 20000 classes has 5e-5, each of 1000 rows a thousandth of that: 5e-8, where the smallest float16
  // is 6e-8.
  Problem p = problem(1000, 1, 20000);
  p.x = ones({1000, 1}).set_requires_grad();
  p.weight = zeros({20000, 1}).set_requires_grad();
  std::fill_n(p.targets.mutable_data<std::int32_t>(), 1000, 0);
  const Outcome out =
      run(p, [](const Problem& q) { return amp::autocast(float16, [&] { return loss_of(q); }); });
  for (std::size_t j = 1; j < out.dweight.size(); ++j) ASSERT_NEAR(out.dweight[j] * 20000, 1, 1e-3);
}

TEST(LinearCrossEntropy, LogitsAreNotRounded) {
  // 256 and 257 are one number in bfloat16.
  const Tensor x = ones({1, 2}, bfloat16), w = from_values(Values{256, 0, 256, 1}, {2, 2}, bfloat16);
  const Tensor loss =
      amp::autocast(bfloat16, [&] { return linear_cross_entropy(x, w, from_values({0}, int32)); });
  EXPECT_NEAR(loss.item(), std::log(1 + std::exp(1.0)), 1e-6);
}

TEST(LinearCrossEntropy, AMaskedTargetIsAnInfiniteLoss) {
  const Tensor x = ones({2, 1}), w = from_values(Values{-INFINITY, 0, 0}, {3, 1});
  EXPECT_EQ(linear_cross_entropy(x, w, from_values({1, 0}, int32)).item(), INFINITY);
  EXPECT_NEAR(linear_cross_entropy(x, w, from_values({1, 2}, int32)).item(), std::log(2), 1e-6);
  const Tensor none = full({3, 1}, -INFINITY);
  EXPECT_EQ(linear_cross_entropy(x, none, from_values({1, 2}, int32)).item(), INFINITY);
}

TEST(LinearCrossEntropy, IsProductsAndLossInTheProfile) {
  const Problem p = problem(64, 8, 50);
  profile::start();
  loss_of(p).backward();
  const profile::Recording recording = profile::stop();
  int products = 0, losses = 0;
  for (const profile::Event& event : recording.of_thread[0]) {
    products += event.name == "linear_cross_entropy" && event.kind == profile::Class::matmul;
    losses += event.name == "softmax and loss" && event.kind == profile::Class::loss;
  }
  EXPECT_EQ(products, 2) << "forward and backward";
  EXPECT_EQ(losses, 1);
}

TEST(LinearCrossEntropy, RefusesWhatDoesNotFit) {
  const Tensor x = ones({4, 3}), w = ones({5, 3}), t = zeros({4}, int32);
  EXPECT_THROW(linear_cross_entropy(x, ones({5, 2}), t), ShapeError);
  EXPECT_THROW(linear_cross_entropy(x, ones({3}), t), ShapeError);
  EXPECT_THROW(linear_cross_entropy(x, w, zeros({3}, int32)), ShapeError);
  EXPECT_THROW(linear_cross_entropy(x, w, zeros({4, 1}, int32)), ShapeError);
  EXPECT_THROW(linear_cross_entropy(x, w, zeros({4})), DTypeError);
  EXPECT_THROW(linear_cross_entropy(x, w, t, {.label_smoothing = 2}), ValueError);
  EXPECT_THROW(linear_cross_entropy(x, w, t, {.z_loss = -1}), ValueError);
  try {
    linear_cross_entropy(x, w, from_values({0, 1, 5, 2}, int32));
    FAIL() << "there are 5 classes";
  } catch (const ValueError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("[linear_cross_entropy] target 5 at position 2", 0), 0U)
        << e.what();
  }
}

}  // namespace
}  // namespace halftone
