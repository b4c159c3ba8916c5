// SPDX-License-Identifier: Apache-2.0
#include "halftone/optim.h"

#include <gmock/gmock.h>

#include "amp/support.h"
#include "halftone/amp.h"
#include "halftone/parallel.h"

namespace halftone::amp {
namespace {

using ::testing::HasSubstr;

// A rule that shows what it was given: w -= gradient_scale * g.
struct Descent : Optimizer {
  using Optimizer::Optimizer;
  void rule(std::size_t, const Tile& t) override {
    for (std::int64_t i = 0; i < t.count; ++i) t.weights[i] -= t.gradient_scale * t.gradient[i];
  }
};

Tensor random_leaf(const Shape& shape, std::uint64_t stream, DType dtype = float32) {
  return random_normal(shape, 1, stream, dtype).set_requires_grad();
}

void random_gradient(const Tensor& w, std::uint64_t stream) {
  sum(mul(w, random_normal(w.shape(), 2, stream))).backward();
}

// The code of every element, by the scalar codec.
std::vector<std::uint64_t> codes_of(DType dtype, const std::vector<double>& values) {
  std::vector<std::uint64_t> codes;
  for (const double value : values) codes.push_back(encode(dtype.format(), value));
  return codes;
}
std::vector<std::uint64_t> codes_in(DType dtype, const void* data, std::int64_t count) {
  std::vector<std::uint64_t> codes;
  for (std::int64_t i = 0; i < count; ++i) codes.push_back(load_code(dtype, data, i));
  return codes;
}

TEST(Optimizer, RefusesParametersItCanNotTrain) {
  Tensor w = leaf({1}), plain = from_values({1}), wide = leaf({1}, float64), narrow = leaf({1}, float16);
  EXPECT_THROW(Descent({}, MasterWeights::none), ValueError);
  EXPECT_THROW(Descent({{"w", plain}}, MasterWeights::none), ValueError);
  EXPECT_THROW(Descent({{"w", Tensor()}}, MasterWeights::none), ValueError);
  EXPECT_THROW(Descent({{"w", w}, {"tied", w}}, MasterWeights::none), ValueError);
  EXPECT_THROW(Descent({{"w", wide}}, MasterWeights::none), DTypeError);
  for (const char* name : {"e11m20", "e9m6", "e5m26"})  // beyond float32, of which a master is
    EXPECT_THROW(Descent({{"w", leaf({1}, find_dtype(name))}}, MasterWeights::float32_copy), DTypeError);
  EXPECT_THAT(message_of([&] {
                Descent({{"w", w}, {"tied", w}}, MasterWeights::none);
              }),
              HasSubstr("'tied' twice"));
  const std::string message = message_of([&] {
    Descent({{"up", w}, {"down", narrow}}, MasterWeights::is_parameter);
  });
  EXPECT_THAT(message, HasSubstr("'down' in float16"));  // fault B10
  EXPECT_THAT(message, HasSubstr("float32 master"));
}

TEST(Optimizer, RefusesTwoOfOneNameButNotTwoThatAreEmpty) {
  EXPECT_THAT(message_of([&] {
                Descent({{"w", leaf({1})}, {"w", leaf({2})}}, MasterWeights::none);
              }),
              HasSubstr("two parameters called 'w'"));
  EXPECT_NO_THROW(Descent({{"", leaf({1})}, {"", leaf({2})}}, MasterWeights::none));
  const auto nothing = [] { return zeros({0, 3}).set_requires_grad(); };
  EXPECT_NO_THROW(Descent({{"a", nothing()}, {"b", nothing()}}, MasterWeights::none));
}

TEST(Optimizer, ALearningRateAndACountOfStepsMustBeOnes) {
  Descent optimizer({{"w", leaf({1})}}, MasterWeights::none);
  for (const double lr : {kNan, kInf, -1e-3, 1e39}) EXPECT_THROW(optimizer.set_lr(lr), ValueError);
  EXPECT_THROW(optimizer.set_steps(-1), ValueError);
  EXPECT_EQ(optimizer.lr(), 0);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, NamesItsParametersForMessages) {
  Tensor w = leaf({1});
  Descent optimizer({{"blocks.0.w", w}}, MasterWeights::none);
  EXPECT_EQ(name_of(w), "blocks.0.w");
}

TEST(Optimizer, AppliesTheRuleWhereThereIsAGradient) {
  Tensor used = leaf({1, 2}), unused = leaf({3});
  Descent optimizer({{"used", used}, {"unused", unused}}, MasterWeights::none);
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 0);  // nothing to do is no step
  loss_with_gradient(used, {4, 8}).backward();
  const std::uint64_t version = unused.version();
  optimizer.step(0.25f);
  EXPECT_THAT(used.to_vector(), ::testing::ElementsAre(0, 0));
  EXPECT_EQ(unused.item(), 3);
  EXPECT_EQ(unused.version(), version);
  EXPECT_EQ(optimizer.steps(), 1);
  optimizer.zero_grad();
  EXPECT_FALSE(used.grad().defined());
}

TEST(Optimizer, AStepIsOneWriteOfEachParameter) {
  for (const DType dtype : {float32, float16}) {
    Tensor w = random_leaf({100, 300}, 1, dtype);
    Descent optimizer({{"w", w}}, MasterWeights::float32_copy);
    random_gradient(w, 1);
    const std::uint64_t version = w.version();
    optimizer.step();
    EXPECT_EQ(w.version(), version + 1);
  }
}

TEST(Optimizer, TheNarrowParameterIsItsMasterRoundedOnce) {
  for (const DType dtype : {float16, bfloat16, float8_e4m3fn}) {
    Tensor w = random_leaf({123, 457}, 1, dtype);
    const std::vector<double> start = w.to_vector();
    Descent optimizer({{"w", w}}, MasterWeights::float32_copy);
    const std::vector<Parameter> state = optimizer.state();
    ASSERT_EQ(state.size(), 1u);
    EXPECT_EQ(state[0].name, "master.w");
    const Tensor master = state[0].value;
    EXPECT_EQ(master.dtype(), float32);
    EXPECT_EQ(master.to_vector(), start);
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      random_gradient(w, 10 + step);
      const std::vector<double> before = master.to_vector(), gradient = w.grad().to_vector();
      optimizer.step(1e-3f);
      for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_EQ(master.data<float>()[i],
                  static_cast<float>(before[i]) - 1e-3f * static_cast<float>(gradient[i]));
      EXPECT_EQ(codes_in(dtype, w.raw(), w.count()), codes_of(dtype, master.to_vector()));
    }
  }
}

TEST(Optimizer, WithoutAMasterTheUpdateIsRoundedAway) {  // fault D18
  Tensor without = leaf({1}, bfloat16), with = leaf({1}, bfloat16);
  Descent plain({{"w", without}}, MasterWeights::none), kept({{"w", with}}, MasterWeights::float32_copy);
  EXPECT_TRUE(plain.state().empty());
  loss_with_gradient(without, {1e-3}).backward();
  loss_with_gradient(with, {1e-3}).backward();
  for (int i = 0; i < 100; ++i) plain.step(), kept.step();
  EXPECT_EQ(without.item(), 1);
  EXPECT_NEAR(kept.state()[0].value.item(), 0.9, 1e-5);
  EXPECT_NEAR(with.item(), 0.9, 0.002);
}

TEST(Optimizer, TrailingBitsMakeTheFloat32Master) {
  Tensor split = random_leaf({3000}, 1, bfloat16), copied = random_leaf({3000}, 1, bfloat16);
  Descent with_bits({{"w", split}}, MasterWeights::trailing_bits),
      with_copy({{"w", copied}}, MasterWeights::float32_copy);
  for (int step = 0; step < 50; ++step) {
    with_bits.zero_grad(), with_copy.zero_grad();
    random_gradient(split, 100 + static_cast<std::uint64_t>(step));
    random_gradient(copied, 100 + static_cast<std::uint64_t>(step));
    with_bits.step(1e-3f), with_copy.step(1e-3f);
  }
  const Tensor trailing = with_bits.state()[0].value, master = with_copy.state()[0].value;
  EXPECT_EQ(with_bits.state()[0].name, "trailing.w");
  for (std::int64_t i = 0; i < 3000; ++i) {
    const auto bits = static_cast<std::uint32_t>(load_code(float32, master.raw(), i));
    EXPECT_EQ(load_code(trailing.dtype(), trailing.raw(), i), bits & 0xFFFF);
    EXPECT_EQ(load_code(bfloat16, split.raw(), i), (bits + 0x8000) >> 16);
  }
}

constexpr MasterWeights kKept[] = {MasterWeights::float32_copy, MasterWeights::trailing_bits,
                                   MasterWeights::compensated};

// A bfloat16 weight of 1 with something kept beside it: three updates of 1e-3.
struct Kept {
  explicit Kept(MasterWeights master) : optimizer({{"w", w}}, master) {
    for (int i = 0; i < 3; ++i) step({1e-3, 1e-3});
  }
  void step(std::vector<double> gradient) {
    optimizer.zero_grad();
    loss_with_gradient(w, std::move(gradient)).backward();
    optimizer.step();
  }
  Tensor beside() const { return optimizer.state()[0].value; }
  Tensor w = leaf({1, 1}, bfloat16);
  Descent optimizer;
};

TEST(Optimizer, AWriteToANarrowParameterIsNotUndone) {
  for (const MasterWeights master : kKept)
    for (const bool consume : {false, true}) {
      Kept kept(master);
      kept.optimizer.consume_gradients(consume);
      no_grad([&] { assign_(kept.w, from_values({4, 8})); });
      kept.step({1, 2});
      EXPECT_THAT(kept.w.to_vector(), ::testing::ElementsAre(3, 6)) << to_string(master);
      const double beside = master == MasterWeights::float32_copy ? 3 : 0;  // nothing of the weights before
      EXPECT_EQ(kept.beside().to_vector()[0], beside) << to_string(master);
    }
}

TEST(Optimizer, AWriteShowsInTheStateBeforeTheNextUpdate) {
  for (const MasterWeights master : kKept) {
    Kept kept(master);
    no_grad([&] { assign_(kept.w, from_values({4, 8})); });
    EXPECT_EQ(kept.beside().to_vector()[1], master == MasterWeights::float32_copy ? 8 : 0);
  }
}

TEST(Optimizer, AMasterKeepsWhatAWriteToItsParameterLeftAsItWas) {
  Kept kept(MasterWeights::float32_copy);
  const double before = kept.beside().to_vector()[1];
  EXPECT_NEAR(before, 1 - 3e-3, 1e-6);  // no bfloat16
  kept.w.mutable_data<std::uint16_t>()[0] = 0;
  kept.step({0, 0});
  EXPECT_THAT(kept.beside().to_vector(), ::testing::ElementsAre(0, before));
}

TEST(Optimizer, AStateThatIsLoadedCountsWhetherItsParametersCameBeforeOrAfterIt) {
  for (const MasterWeights master : kKept)
    for (const bool parameters_first : {false, true}) {
      Kept saved(master), loaded(master);
      loaded.step({1, 1});
      const auto load_parameters = [&] { no_grad([&] { assign_(loaded.w, saved.w); }); };
      if (parameters_first) load_parameters();
      loaded.optimizer.load(saved.optimizer.state(), 3);
      if (!parameters_first) load_parameters();
      saved.step({1e-3, 1e-3}), loaded.step({1e-3, 1e-3});
      EXPECT_EQ(bits(loaded.w), bits(saved.w)) << to_string(master);
      EXPECT_EQ(bits(loaded.beside()), bits(saved.beside())) << to_string(master);
    }
}

TEST(Optimizer, StochasticUpdatesAreTheSameOnAnyNumberOfThreadsAndAfterResuming) {
  const auto train = [](int threads, int stop) {
    const int before = thread_count();
    set_thread_count(threads);
    manual_seed(3);
    Tensor w = random_leaf({30000}, 1, bfloat16);
    auto optimizer = std::make_unique<Descent>(std::vector<Parameter>{{"w", w}}, MasterWeights::stochastic);
    for (int step = 0; step < 6; ++step) {
      if (step == stop) {
        optimizer = std::make_unique<Descent>(std::vector<Parameter>{{"w", w}}, MasterWeights::stochastic);
        optimizer->set_steps(step);
      }
      optimizer->zero_grad();
      random_gradient(w, 100 + static_cast<std::uint64_t>(step));
      optimizer->step(1e-3f);
    }
    set_thread_count(before);
    return codes_in(bfloat16, w.raw(), w.count());
  };
  EXPECT_EQ(train(1, -1), train(2, -1));
  EXPECT_EQ(train(1, -1), train(1, 3));
}

TEST(Optimizer, KeepsNarrowCopiesBitEqualToACast) {
  for (const DType parameter : {float32, float16})
    for (const MasterWeights master : {MasterWeights::float32_copy, MasterWeights::none}) {
      Tensor w = random_leaf({70, 200}, 1, parameter);
      const Tensor x = random_normal({3, 200}, 1, 2);
      Descent optimizer({{"w", w}}, master);
      const auto use = [&](DType compute) { autocast(compute, [&] { return linear(x, w); }); };
      use(bfloat16), use(float8_e5m2);
      ASSERT_EQ(w.storage()->casts.size(), 2u);
      const auto* first_copy = w.storage()->casts[0].copy.get();
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        random_gradient(w, 10 + step);
        optimizer.step(1e-2f);
        ASSERT_EQ(w.storage()->casts.size(), 2u);
        for (const auto& cast : w.storage()->casts) {
          EXPECT_EQ(cast.version, w.version());
          EXPECT_EQ(codes_in(cast.dtype, cast.copy->data, w.count()), codes_of(cast.dtype, w.to_vector()));
        }
        use(bfloat16);  // finds its copy: makes none
        EXPECT_EQ(w.storage()->casts[0].copy.get(), first_copy);
      }
    }
}

TEST(Optimizer, DropsACopyThatWasStale) {
  Tensor w = random_leaf({4, 4}, 1);
  Descent optimizer({{"w", w}}, MasterWeights::none);
  autocast(bfloat16, [&] { return linear(ones({1, 4}), w); });
  w.mutable_data<float>()[0] = 100;
  random_gradient(w, 3);
  optimizer.step();
  EXPECT_TRUE(w.storage()->casts.empty());
}

TEST(Optimizer, BackwardAfterTheUpdateIsRefused) {
  Tensor w = random_leaf({4, 4}, 1);
  Descent optimizer({{"w", w}}, MasterWeights::none);
  Tensor x = random_leaf({1, 4}, 2);
  const auto forward = [&] { return sum(autocast(bfloat16, [&] { return linear(x, w); })); };
  const Tensor kept = forward();
  forward().backward();
  optimizer.step();
  EXPECT_THROW(kept.backward(), Error);  // the narrow copy it saved has new contents
}

TEST(Optimizer, HasTheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::uint64_t> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    Tensor w = random_leaf({100003}, 1, float16);
    Descent optimizer({{"w", w}}, MasterWeights::float32_copy);
    random_gradient(w, 2);
    optimizer.step(0.01f);
    results.push_back(bits(w));
    results.push_back(bits(optimizer.state()[0].value));
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[3]);
}

}  // namespace
}  // namespace halftone::amp
