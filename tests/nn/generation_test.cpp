// SPDX-License-Identifier: Apache-2.0
#include "halftone/generation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "data/scratch.h"
#include "halftone/autocast.h"
#include "halftone/gpt2.h"
#include "halftone/llama.h"
#include "nn/model_checks.h"

namespace halftone::models {
namespace {

using namespace halftone::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

// Random weights large enough that texts do not settle on one token.
template <class Model>
Model lively(Model model) {
  std::uint64_t stream = 1000;
  for (Parameter& p : nn::parameters(model))
    no_grad([&] { add_(p.value, random_normal(p.value.shape(), 4, ++stream) * 0.4); });
  return model;
}
Gpt2 gpt2() { return lively(Gpt2({.vocabulary = 23, .context = 8, .width = 16, .layers = 2, .heads = 4})); }
Llama llama() {
  LlamaOptions options{.vocabulary = 23, .context = 8, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2};
  return lively(Llama(options));
}

template <class Model>
void expect_same_with_cache(const Model& model) {
  for (const std::size_t prompt : {1u, 5u, 8u, 30u}) {
    Tokens start(prompt);
    for (std::size_t i = 0; i < prompt; ++i) start[i] = static_cast<std::int32_t>(3 * i % 23);
    GenerateOptions options{.max_new_tokens = 40, .temperature = 0};
    const Tokens cached = generate(model, start, options);
    options.cache = false;
    EXPECT_EQ(generate(model, start, options), cached);
    options.temperature = 1;
    const Tokens drawn = generate(model, start, options);
    EXPECT_GT(std::set<std::int32_t>(drawn.begin(), drawn.end()).size(), 5u);  // a text worth comparing
    options.cache = true;
    EXPECT_EQ(generate(model, start, options), drawn);
  }
  // Logits, fed one token, then two, then the rest.
  const Tensor tokens = random_tokens({2, 8}, 23);
  inference([&] {
    const std::vector<double> expected = model(tokens).to_vector();
    KeyValueCache cache(8);
    for (const auto& part : {std::pair{0, 1}, std::pair{1, 3}, std::pair{3, 8}}) {
      Tensor some({2, part.second - part.first}, int32);
      for (int b = 0; b < 2; ++b)
        for (int i = part.first; i < part.second; ++i)
          some.mutable_data<std::int32_t>()[b * some.size(1) + i - part.first] =
              tokens.data<std::int32_t>()[b * 8 + i];
      const std::vector<double> logits = model.logits(model.hidden(some, &cache)).to_vector();
      EXPECT_EQ(cache.size(), part.second);
      for (int b = 0; b < 2; ++b)
        for (int i = part.first * 23; i < part.second * 23; ++i) {
          const auto at = static_cast<std::size_t>(b * 23 * some.size(1) + i - part.first * 23);
          EXPECT_NEAR(logits[at], expected[static_cast<std::size_t>(b * 8 * 23 + i)], 2e-5);
        }
    }
    EXPECT_THROW(model.hidden(random_tokens({2, 1}, 23), &cache), ShapeError);  // the context is full
  });
}

TEST(Generation, ACacheChangesNothing) {
  manual_seed(1);
  expect_same_with_cache(gpt2());
  expect_same_with_cache(llama());
}

TEST(Generation, TheSeedDecides) {
  manual_seed(1);
  const Llama model = llama();
  const Tokens start = {1, 2};
  const Tokens text = generate(model, start, {.max_new_tokens = 30, .seed = 5});
  EXPECT_EQ(text.size(), 30u);
  take_random(100);  // the thread's own random numbers have no part in it
  EXPECT_EQ(generate(model, start, {.max_new_tokens = 30, .seed = 5}), text);
  EXPECT_NE(generate(model, start, {.max_new_tokens = 30, .seed = 6}), text);
  EXPECT_EQ(generate(model, start, {.max_new_tokens = 10, .seed = 5}),
            Tokens(text.begin(), text.begin() + 10));
  EXPECT_EQ(generate(model, start, {.max_new_tokens = 30, .top_k = 1}),
            generate(model, start, {.max_new_tokens = 30, .temperature = 0}));
}

TEST(Generation, RunsInTheCallersFormat) {
  manual_seed(1);
  const Gpt2 model = gpt2();
  const Tokens start = {1, 2};
  const Tokens text = amp::autocast(
      bfloat16, [&] { return generate(model, start, {.max_new_tokens = 5, .temperature = 0}); });
  EXPECT_EQ(text.size(), 5u);
}

// A decoder whose logits are always the same, and which notes what it was asked.
struct Fixed {
  struct {
    int context = 6;
  } options;
  std::vector<double> row;
  mutable std::vector<std::vector<double>> asked{};
  Tensor hidden(const Tensor& tokens, KeyValueCache* cache) const {
    asked.push_back(tokens.to_vector());
    if (cache != nullptr) cache->advance(tokens.size(1));
    return zeros({1, tokens.size(1), 1});
  }
  Tensor logits(const Tensor&) const {
    return from_values(row, {1, 1, static_cast<std::int64_t>(row.size())});
  }
};

TEST(Generation, TheWindowDropsItsOlderHalfWhenItIsFull) {
  const Fixed model{{}, {0, 1}};
  GenerateOptions options{.max_new_tokens = 8, .temperature = 0, .cache = false};
  const Tokens start = {0, 10, 20, 30};
  EXPECT_EQ(generate(model, start, options).size(), 8u);
  using Row = std::vector<double>;
  EXPECT_EQ(model.asked[0], (Row{0, 10, 20, 30}));
  EXPECT_EQ(model.asked[2], (Row{0, 10, 20, 30, 1, 1}));
  EXPECT_EQ(model.asked[3], (Row{30, 1, 1, 1}));
  EXPECT_EQ(model.asked[5], (Row{30, 1, 1, 1, 1, 1}));
  EXPECT_EQ(model.asked[6], (Row{1, 1, 1, 1}));
  model.asked.clear();
  options.cache = true;
  generate(model, start, options);
  std::vector<std::size_t> lengths;
  for (const Row& tokens : model.asked) lengths.push_back(tokens.size());
  EXPECT_THAT(lengths, ElementsAre(4, 1, 1, 4, 1, 1, 4, 1));
}

// Chi-square of 20000 tokens against probabilities; 0 means never.
double chi_square(const std::vector<double>& logits, GenerateOptions options, std::vector<double> expected) {
  const Fixed model{{}, logits};
  options.max_new_tokens = 20000, options.cache = false, options.seed = 3;
  std::vector<double> counts(logits.size());
  const Tokens start = {0};
  for (const std::int32_t token : generate(model, start, options)) ++counts[static_cast<std::size_t>(token)];
  double total = 0, square = 0;
  for (const double p : expected) total += p;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double mean = 20000 * expected[i] / total;
    if (mean == 0)
      EXPECT_EQ(counts[i], 0) << i;
    else
      square += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  return square;
}

TEST(Generation, FrequenciesAreTheSoftmaxOfTheLogits) {
  const std::vector<double> logits = {std::log(4), 0, std::log(3), -INFINITY, std::log(2)};
  // 99.9 % quantiles of chi-square: 16.3 with 3 degrees of freedom, 10.8 with 1.
  EXPECT_LT(chi_square(logits, {}, {4, 1, 3, 0, 2}), 16.3);
  EXPECT_GT(chi_square(logits, {}, {4, 1.2, 3, 0, 2}), 16.3);  // and would be noticed
  EXPECT_LT(chi_square(logits, {.temperature = 0.5}, {16, 1, 9, 0, 4}), 16.3);
  EXPECT_LT(chi_square(logits, {.top_k = 2}, {4, 0, 3, 0, 0}), 10.8);
  EXPECT_LT(chi_square(logits, {.top_p = 0.65}, {4, 0, 3, 0, 0}), 10.8);
  EXPECT_LT(chi_square(logits, {.top_p = 0.95}, {4, 1, 3, 0, 2}), 16.3);
  // top_p of what top_k left: 4 of 7 is more than half.
  EXPECT_EQ(chi_square(logits, {.top_k = 2, .top_p = 0.55}, {1, 0, 0, 0, 0}), 0);
}

TEST(Generation, TokensAreDrawnByTheirShareOfTheInterval) {
  const std::vector<float> logits = {0, 0, -INFINITY, 0, -INFINITY};
  EXPECT_EQ(sample_token(logits, {}, 0), 0);
  EXPECT_EQ(sample_token(logits, {}, 0.3), 0);
  EXPECT_EQ(sample_token(logits, {}, 0.34), 1);
  EXPECT_EQ(sample_token(logits, {}, std::nextafter(1.0, 0.0)), 3);
  EXPECT_EQ(sample_token(logits, {.temperature = 0}, 0.9), 0);  // of equals the first
  EXPECT_EQ(sample_token(logits, {.top_k = 2}, 0.99), 1);
  EXPECT_EQ(sample_token(std::vector<float>{1e30f, -1e30f}, {.temperature = 1e-30}, 0.99), 0);
}

TEST(Generation, EndsWhereItShould) {
  const Fixed model{{}, {0, 9}};
  const Tokens start = {0};
  EXPECT_TRUE(generate(model, start, {.temperature = 0, .stop_tokens = {5, 1}}).empty());
  EXPECT_TRUE(generate(model, start, {.max_new_tokens = 0}).empty());
  Tokens seen;
  GenerateOptions options{.temperature = 0};
  options.each = [&](std::int32_t token) { return seen.push_back(token), seen.size() < 3; };
  EXPECT_THAT(generate(model, start, options), ElementsAre(1, 1, 1));
  EXPECT_THAT(seen, ElementsAre(1, 1, 1));
}

TEST(Generation, MistakesAreNamed) {
  const Fixed model{{}, {0, 9}}, broken{{}, {0, NAN}}, empty_one{{}, {-INFINITY, -INFINITY}};
  const Tokens start = {0};
  const auto refused = [&](const GenerateOptions& options) {
    return message_of<ValueError>([&] { generate(model, start, options); });
  };
  EXPECT_THAT(refused({.temperature = -1}), HasSubstr("temperature -1"));
  EXPECT_THAT(refused({.temperature = NAN}), HasSubstr("temperature nan"));
  EXPECT_THAT(refused({.top_k = -1}), HasSubstr("top_k -1"));
  EXPECT_THAT(refused({.top_p = 0}), HasSubstr("top_p 0"));
  EXPECT_THAT(refused({.max_new_tokens = -1}), HasSubstr("max_new_tokens -1"));
  EXPECT_THROW(generate(model, Tokens(), {}), ValueError);
  EXPECT_THROW(generate(broken, start, {}), NonFiniteError);
  EXPECT_THROW(generate(empty_one, start, {}), NonFiniteError);
}

TEST(KeyValueCacheTest, KeepsWhatWasPutInAndItsFormat) {
  KeyValueCache cache(3);
  const auto filled = [](double value, std::int64_t tokens, DType dtype) {
    return full({1, 2, tokens, 1}, value, dtype);
  };
  const auto first = cache.append(0, filled(1, 2, bfloat16), filled(5, 2, bfloat16));
  EXPECT_EQ(first.first.dtype(), bfloat16);
  cache.advance(2);
  const auto all = cache.append(0, filled(2, 1, bfloat16), filled(6, 1, bfloat16));
  EXPECT_THAT(all.first.to_vector(), ElementsAre(1, 1, 2, 1, 1, 2));
  EXPECT_THAT(all.second.to_vector(), ElementsAre(5, 5, 6, 5, 5, 6));
  EXPECT_THROW(cache.append(0, filled(2, 2, bfloat16), filled(6, 2, bfloat16)), ValueError);
  EXPECT_THROW(cache.append(1, filled(2, 1, bfloat16), filled(6, 1, bfloat16)), ShapeError);
  EXPECT_THROW(cache.append(0, full({2, 2, 1, 1}, 0), full({2, 2, 1, 1}, 0)), ShapeError);
  cache.clear();
  EXPECT_EQ(cache.append(0, full({2, 2, 1, 1}, 7), full({2, 2, 1, 1}, 7)).first.dtype(), float32);
  Tensor trained = filled(1, 1, float32);
  trained.set_requires_grad();
  EXPECT_THROW(cache.append(0, trained, trained), ValueError);
  EXPECT_THROW(KeyValueCache(0), ValueError);
}

}  // namespace
}  // namespace halftone::models
