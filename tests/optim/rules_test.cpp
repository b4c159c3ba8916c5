// SPDX-License-Identifier: Apache-2.0
//
// What holds for every row of the table of update rules, with every recipe.
#include "optim/rule.h"

#include <gmock/gmock.h>

#include <cstring>

#include "amp/support.h"
#include "halftone/nn.h"
#include "halftone/parallel.h"

namespace halftone::optim {
namespace {

using amp::kRecipes;
using amp::Recipe;
using ::testing::HasSubstr;

struct Model {
  nn::Linear up{4, 40};
  nn::BatchNorm norm{40};
  nn::Linear down{40, 3};
  Tensor operator()(const Tensor& x) const { return down(relu(norm(up(x)))); }
  void visit(auto&& each) { each("up", up), each("norm", norm), each("down", down); }
};

// A model in training; lr suits all rules: the updates of all but SGD are of its size.
struct Training {
  Training(const Rule& rule, const Recipe& recipe, amp::StepOptions options = {}) {
    manual_seed(1);
    model = std::make_unique<Model>();
    nn::to(*model, recipe.parameter);
    start(rule, recipe, options);
  }
  void start(const Rule& rule, const Recipe& recipe, amp::StepOptions options = {}) {
    step.reset(), optimizer.reset();
    const double lr = rule.name == "sgd"                                ? 0.1
                      : rule.name == "adafactor" || rule.name == "lamb" ? 0.05
                                                                        : 0.01;
    std::vector<std::pair<std::string_view, double>> values{{"lr", lr}, {"weight_decay", 1e-3}};
    if (rule.name == "sgd") values.emplace_back("momentum", 0.9);
    optimizer = make_optimizer(rule.name, nn::parameters(*model), recipe, values);
    step = std::make_unique<amp::Step>(*optimizer, recipe, nn::buffers(*model), options,
                                       amp::ScalerOptions{.init_scale = 8});
  }
  Tensor loss(std::uint64_t batch) {
    Tensor targets(Shape{16}, int32);
    for (int i = 0; i < 16; ++i) targets.mutable_data<std::int32_t>()[i] = i % 3;
    return cross_entropy((*model)(random_normal({16, 4}, 5, batch)), targets);
  }
  amp::StepResult train(std::uint64_t batch) {
    return (*step)([&](int) { return loss(batch); });
  }
  std::vector<std::uint64_t> everything() {
    std::vector<std::uint64_t> all = bits(nn::parameters(*model));
    for (const auto& list : {bits(nn::buffers(*model)), bits(optimizer->state())})
      all.insert(all.end(), list.begin(), list.end());
    for (const Parameter& p : optimizer->parameters())
      for (const auto& cast : p.value.storage()->casts)
        all.push_back(bits({cast.copy->data, static_cast<std::size_t>(cast.copy->bytes)}));
    return all;
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<amp::Step> step;
};

template <class Body>
void for_every_rule_and_recipe(const Body& body) {
  for (const Rule* rule : rules())
    for (const Recipe& recipe : kRecipes) {
      SCOPED_TRACE(std::string(rule->name) + " with " + std::string(recipe.name));
      body(*rule, recipe);
    }
}

TEST(EveryRule, LearnsWithEveryRecipe) {
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    Training training(rule, recipe);
    training.train(1);
    const float first = training.step->loss();
    for (int i = 0; i < 30; ++i) training.train(1);
    EXPECT_LT(training.step->loss(), 0.6f * first);
  });
}

TEST(EveryRule, ARejectedStepChangesNothing) {  // law 4
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    Training training(rule, recipe);
    for (std::uint64_t i = 0; i < 2; ++i) ASSERT_TRUE(training.train(i).applied());
    const auto before = training.everything();
    const auto result =
        (*training.step)([&](int) { return training.loss(3) + poison(training.model->down.weight); });
    EXPECT_EQ(result.outcome, amp::StepOutcome::skipped_overflow);
    EXPECT_EQ(training.everything(), before);
    EXPECT_EQ(training.optimizer->steps(), 2);
  });
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy = empty(tensor.shape(), tensor.dtype());
  std::memcpy(copy.raw_mutable(), tensor.raw(), static_cast<std::size_t>(copy.bytes()));
  return copy;
}

TEST(EveryRule, ContinuesFromItsStateBitForBit) {  // law 8
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    const auto end = [&](bool stop) {
      Training training(rule, recipe);
      for (std::uint64_t i = 0; i < 2; ++i) training.train(i);
      if (stop) {
        std::vector<Parameter> state;
        for (const Parameter& p : training.optimizer->state()) state.push_back({p.name, copy_of(p.value)});
        const std::int64_t steps = training.optimizer->steps();
        const std::vector<Parameter> buffers = training.step->buffers();
        training.start(rule, recipe);
        for (std::size_t i = 0; i < buffers.size(); ++i)
          std::memcpy(training.step->buffers()[i].value.raw_mutable(), buffers[i].value.raw(),
                      static_cast<std::size_t>(buffers[i].value.bytes()));
        training.optimizer->load(state, steps);
      }
      for (std::uint64_t i = 2; i < 4; ++i) training.train(i);
      return training.everything();
    };
    EXPECT_EQ(end(false), end(true));
  });
}

TEST(EveryRule, HasTheSameBitsOnAnyNumberOfThreadsAndAtEverySimdLevel) {  // law 9
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    std::optional<std::vector<std::uint64_t>> expected;
    for (const int threads : {1, 2})
      for (int level = 0; level <= static_cast<int>(best_simd_level()); ++level) {
        if (threads == 2 && level > 0) continue;
        set_thread_count(threads);
        set_simd_level(static_cast<SimdLevel>(level));
        Tensor w = random_normal({33, 311}, 1, 1, recipe.parameter).set_requires_grad();
        Tensor b = random_normal({9001}, 1, 2).set_requires_grad();
        const auto optimizer =
            make_optimizer(rule.name, {{"w", w}, {"b", b}}, recipe, {{"weight_decay", 0.01}});
        for (std::uint64_t step = 0; step < 2; ++step) {
          optimizer->zero_grad();
          sum(mul(w, random_normal(w.shape(), 2, step))).backward();
          sum(mul(b, random_normal(b.shape(), 3, step))).backward();
          optimizer->step(0.7f);
        }
        auto actual = bits(optimizer->state());
        actual.push_back(bits(w)), actual.push_back(bits(b));
        if (!expected) expected = actual;
        EXPECT_EQ(actual, *expected) << threads << " threads, level " << level;
      }
  });
  set_simd_level(best_simd_level());
}

TEST(EveryRule, ConsumingGradientsGivesTheBitsOfTheOrdinaryStep) {
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    if (recipe.scaling != amp::LossScaling::none) return;
    const auto end = [&](bool consume) {
      Training training(rule, recipe, {.consume_gradients = consume});
      std::vector<float> seen;
      for (std::uint64_t i = 0; i < 3; ++i) {
        const amp::StepResult result = training.train(i);
        EXPECT_TRUE(result.applied());
        seen.push_back(result.gradient_norm);
        seen.push_back(training.step->loss());
        for (const Parameter& p : training.optimizer->parameters())
          EXPECT_EQ(p.value.grad().defined(), !consume);
      }
      return std::pair(seen, training.everything());
    };
    EXPECT_EQ(end(false), end(true));
  });
}

TEST(EveryRule, AnAdjustedParameterIsThatOfAnOptimizerWithTheseOptions) {
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    constexpr double kLr = 0.02, kDecay = 0.01, kFactor = 0.25, kOther = 0.3;
    struct Pair {
      Tensor w, b;
      std::unique_ptr<RuleOptimizer> optimizer;
      Pair(const Rule& rule, const Recipe& recipe, double lr, double decay)
          : w(random_normal({33, 31}, 1, 1, recipe.parameter).set_requires_grad()),
            b(random_normal({90}, 1, 2).set_requires_grad()),
            optimizer(make_optimizer(rule.name, {{"w", w}, {"b", b}}, recipe,
                                     {{"lr", lr}, {"weight_decay", decay}})) {}
    };
    Pair both(rule, recipe, kLr, kDecay), plain(rule, recipe, kLr, kDecay),
        other(rule, recipe, kLr * kFactor, kOther);
    const auto is_vector = [](const Parameter& p) { return p.value.rank() == 1; };
    EXPECT_EQ(both.optimizer->adjust(is_vector, {.lr_factor = kFactor, .weight_decay = kOther}), 1);
    for (std::uint64_t step = 0; step < 3; ++step)
      for (Pair* pair : {&both, &plain, &other}) {
        pair->optimizer->zero_grad();
        sum(mul(pair->w, random_normal(pair->w.shape(), 2, step))).backward();
        sum(mul(pair->b, random_normal(pair->b.shape(), 3, step))).backward();
        if (step == 2) pair->optimizer->set_lr(pair->optimizer->lr() / 2);  // as a schedule does
        pair->optimizer->step();
      }
    EXPECT_EQ(bits(both.w), bits(plain.w));
    EXPECT_EQ(bits(both.b), bits(other.b));
    EXPECT_NE(bits(both.b), bits(plain.b));
  });
}

TEST(EveryRule, AZeroGradientIsAZeroUpdate) {  // fault D14: an epsilon of 1e-8 is 0 in float16
  for_every_rule_and_recipe([](const Rule& rule, const Recipe& recipe) {
    Tensor w = full({2, 3}, 1, recipe.parameter).set_requires_grad(), b = leaf({1, 0});
    const auto optimizer =
        make_optimizer(rule.name, {{"w", w}, {"b", b}}, recipe, {{"weight_decay", 0}, {"lr", 0.5}});
    (sum(cast(w, float32) * 0.0) + sum(b * 0.0)).backward();
    for (int i = 0; i < 3; ++i) optimizer->step();
    EXPECT_EQ(w.to_vector(), std::vector<double>(6, 1));
    EXPECT_EQ(b.to_vector(), (std::vector<double>{1, 0}));
  });
}

TEST(EveryRule, SplitWeightsAreTheFloat32MasterBitForBit) {
  for (const Rule* rule : rules()) {
    Tensor split = random_normal({31, 97}, 1, 1, bfloat16).set_requires_grad();
    Tensor copied = random_normal({31, 97}, 1, 1, bfloat16).set_requires_grad();
    Recipe recipe = amp::find_recipe("bfloat16_split");
    const auto with_bits = make_optimizer(rule->name, {{"w", split}}, recipe);
    recipe.master = MasterWeights::float32_copy;
    const auto with_copy = make_optimizer(rule->name, {{"w", copied}}, recipe);
    for (std::uint64_t step = 0; step < 5; ++step)
      for (const auto& [optimizer, w] : {std::pair(with_bits.get(), split), {with_copy.get(), copied}}) {
        optimizer->zero_grad();
        sum(mul(w, random_normal(w.shape(), 2, step))).backward();
        optimizer->step();
      }
    const Tensor trailing = with_bits->state()[0].value, master = with_copy->state()[0].value;
    for (std::int64_t i = 0; i < master.count(); ++i) {
      const auto word = static_cast<std::uint32_t>(load_code(float32, master.raw(), i));
      ASSERT_EQ(load_code(trailing.dtype(), trailing.raw(), i), word & 0xFFFF) << rule->name;
      ASSERT_EQ(load_code(bfloat16, split.raw(), i), (word + 0x8000) >> 16) << rule->name;
    }
  }
}

// Every element is the same, so the mean of the narrow state must be the float32 state: rounding to nearest
// would be off by up to 2^-9 of it, and is the same for all.
TEST(EveryRule, NarrowStateIsRightOnAverage) {
  constexpr std::int64_t kCount = 20000;
  for (const Rule* rule : rules()) {
    Recipe recipe = amp::find_recipe("float32");
    const auto after = [&](DType state) {
      recipe.state = state;
      const Tensor w = ones({kCount}).set_requires_grad();
      std::vector<std::pair<std::string_view, double>> values;
      if (rule->name == "sgd") values.emplace_back("momentum", 0.9);
      const auto optimizer = make_optimizer(rule->name, {{"w", w}}, recipe, values);
      for (const double gradient : {0.7, 0.123, -0.3}) {
        optimizer->zero_grad();
        scale(sum(w), gradient).backward();
        optimizer->step();
      }
      return optimizer->state();
    };
    const auto wide = after(float32), narrow = after(bfloat16);
    ASSERT_EQ(wide.size(), narrow.size());
    ASSERT_FALSE(wide.empty()) << rule->name;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      EXPECT_EQ(narrow[i].value.dtype(), bfloat16) << narrow[i].name;
      double mean = 0;
      for (const double v : narrow[i].value.to_vector()) mean += v / kCount;
      const double expected = wide[i].value.to_vector()[0];
      // Three roundings, each off by less than a spacing of 2^-7 of a value that is at most 4 times this one.
      EXPECT_NEAR(mean, expected, 5 * 4 * std::abs(expected) * std::sqrt(3) * 0x1p-8 / std::sqrt(kCount))
          << rule->name << ' ' << narrow[i].name;
    }
  }
}

TEST(EveryRule, RefusesStateOfAnotherFormat) {  // fault D29
  for (const Rule* rule : rules()) {
    Recipe recipe = amp::find_recipe("float32");
    Tensor w = ones({5}).set_requires_grad();
    std::vector<std::pair<std::string_view, double>> values;
    if (rule->name == "sgd") values.emplace_back("momentum", 0.9);
    const auto wide = make_optimizer(rule->name, {{"w", w}}, recipe, values);
    sum(w).backward();
    wide->step();
    recipe.state = bfloat16;
    const auto narrow = make_optimizer(rule->name, {{"w", w}}, recipe, values);
    const auto before = bits(wide->state());
    EXPECT_THROW(wide->load(narrow->state(), 0), DTypeError) << rule->name;
    const std::string message = message_of([&] { wide->load(narrow->state(), 0); });
    EXPECT_THAT(message, HasSubstr("in bfloat16; expected float32"));
    EXPECT_THAT(message, HasSubstr(narrow->state().front().name));
    EXPECT_EQ(bits(wide->state()), before);
    EXPECT_EQ(wide->steps(), 1);
  }
}

TEST(Rules, AreKnownByTheirNames) {
  const auto names = optimizer_names();
  EXPECT_THAT(names, ::testing::ElementsAre("adamw", "sgd", "adam", "lamb", "lion", "adafactor"));
  const std::string message = message_of([] { find_rule("adagrad"); });
  for (const std::string_view name : names) {
    EXPECT_EQ(find_rule(name).name, name);
    EXPECT_THAT(message, HasSubstr(std::string(name)));
  }
}

TEST(Rules, OptionsAreGivenByNameAndChecked) {
  Tensor w = leaf({1});
  const Recipe& recipe = amp::find_recipe("float32");
  for (const Rule* rule : rules()) {
    const auto make = [&](std::string_view option, double value) {
      return make_optimizer(rule->name, {{"w", w}}, recipe, {{option, value}});
    };
    EXPECT_EQ(rule->options[0].name, "lr");
    EXPECT_EQ(make("lr", 0.25)->lr(), 0.25);
    EXPECT_THAT(message_of([&] { make("rate", 1); }), HasSubstr("the option \"rate\"; expected lr, "));
    for (const OptionRow& option : rule->options)
      EXPECT_THAT(message_of([&] { make(option.name, -1); }),
                  HasSubstr(std::string(rule->title) + "] " + std::string(option.name) + " = -1"));
  }
  EXPECT_THROW(AdamW({{"w", w}}, {.state = int32}), DTypeError);
  for (const char* name : {"float64", "e9m6", "e8m7fn", "e11m4"})  // beyond float32
    EXPECT_THROW(AdamW({{"w", w}}, {.state = find_dtype(name)}), DTypeError) << name;
}

TEST(Rules, AnAdjustmentIsCheckedAndOneThatIsWrongChangesNothing) {
  Tensor w = leaf({1}), b = leaf({1});
  const auto is = [](std::string_view name) { return [name](const Parameter& p) { return p.name == name; }; };
  for (const Rule* rule : rules()) {
    const auto optimizer =
        make_optimizer(rule->name, {{"w", w}, {"b", b}}, amp::find_recipe("float32"), {{"weight_decay", 0}});
    EXPECT_EQ(optimizer->adjust(is("w"), {.lr_factor = 0}), 1);  // frozen
    const auto refused = [&](std::string_view name, const Adjustment& adjustment) {
      return message_of([&] { optimizer->adjust(is(name), adjustment); });
    };
    EXPECT_THAT(refused("x", {}), HasSubstr("none of 2 parameters chosen to adjust"));
    EXPECT_THAT(refused("w", {.lr_factor = -1}), HasSubstr("lr_factor = -1"));
    EXPECT_THAT(refused("w", {.lr_factor = 1e9}), HasSubstr("lr_factor = 1000000000"));
    EXPECT_THAT(refused("w", {.lr_factor = NAN}), HasSubstr("lr_factor = nan"));
    EXPECT_THAT(refused("w", {.weight_decay = -1}), HasSubstr("weight_decay = -1; expected at least 0"));
    optimizer->zero_grad();
    sum(w + b).backward();
    optimizer->step();
    EXPECT_EQ(w.to_vector(), std::vector<double>{1}) << rule->name;
    EXPECT_NE(b.to_vector(), std::vector<double>{1}) << rule->name;
  }
}

// Bytes per parameter of two matrices of 2^18, by the allocator, after a step; without and with gradients
// that are consumed.
TEST(Memory, OfAdamWIsWhatTheRecipesPromise) {
  struct Promise {
    const char* recipe;
    double bytes;
  };
  for (const Promise& promise : {Promise{"float32", 16},
                                 {"bfloat16", 18},
                                 {"float16", 18},
                                 {"float16_master", 18},
                                 {"bfloat16_split", 16},
                                 {"bfloat16_lean", 10}})
    for (const bool consume : {false, true}) {
      const Recipe& recipe = amp::find_recipe(promise.recipe);
      if (consume && recipe.scaling != amp::LossScaling::none) continue;
      const Tensor x = random_normal({2, 512}, 1, 1);
      const std::int64_t before = memory_stats().in_use;
      Tensor a = random_normal({512, 512}, 1, 2, recipe.parameter).set_requires_grad();
      Tensor b = random_normal({512, 512}, 1, 3, recipe.parameter).set_requires_grad();
      const auto optimizer = make_optimizer("adamw", {{"a", a}, {"b", b}}, recipe);
      amp::Step step(*optimizer, recipe, {}, {.consume_gradients = consume}, {.init_scale = 1});
      ASSERT_TRUE(step([&](int) { return mean(linear(linear(x, a), b)); }).applied());
      const double bytes = static_cast<double>(memory_stats().in_use - before) / (2 * 512 * 512);
      EXPECT_NEAR(bytes, promise.bytes - (consume ? 4 : 0), 0.001) << promise.recipe;
    }
}

}  // namespace
}  // namespace halftone::optim
