// SPDX-License-Identifier: Apache-2.0
//
// Generation: the cache of keys and values, drawing a token, and the loop that moves the window.
#include "halftone/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "halftone/random.h"

namespace halftone::models {
namespace {

void check(const GenerateOptions& o) {
  const auto require = [](bool good, const char* name, double value, const char* expected) {
    if (!good) throw ValueError("generate", fmt::format("{} {}", name, value), expected);
  };
  require(o.max_new_tokens >= 0, "max_new_tokens", o.max_new_tokens, "0 or more");
  require(o.temperature >= 0 && std::isfinite(o.temperature), "temperature", o.temperature,
          "0 (the likeliest token) or a positive number");
  require(o.top_k >= 0, "top_k", o.top_k, "0 (all tokens) or more");
  require(o.top_p > 0 && o.top_p <= 1, "top_p", o.top_p, "a probability above 0, at most 1");
}

// In [0, 1), with the 53 bits of a double.
double uniform(std::uint64_t seed, std::uint64_t number) {
  const std::uint64_t high = random_bits(seed, streams::generate, 2 * number),
                      low = random_bits(seed, streams::generate, 2 * number + 1);
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

// First of the tokens that the model looks at, a function of their number alone: the window, when full,
// drops its older half.
std::int64_t window_begin(std::int64_t count, std::int64_t context) {
  const std::int64_t half = std::max<std::int64_t>(1, context / 2),
                     over = std::max<std::int64_t>(0, count - context);
  return (over + half - 1) / half * half;
}

Tensor tokens_from(const std::vector<std::int32_t>& all, std::int64_t begin) {
  Tensor tokens({1, static_cast<std::int64_t>(all.size()) - begin}, int32);
  std::copy(all.begin() + begin, all.end(), tokens.mutable_data<std::int32_t>());
  return tokens;
}

std::vector<float> as_floats(const Tensor& logits) {
  const std::vector<double> values = logits.to_vector();
  return {values.begin(), values.end()};
}

}  // namespace

KeyValueCache::KeyValueCache(std::int64_t capacity) : capacity_(capacity) {
  if (capacity < 1)
    throw ValueError("KeyValueCache", fmt::format("a capacity of {}", capacity), "at least 1");
}

std::pair<Tensor, Tensor> KeyValueCache::append(std::size_t block, const Tensor& keys, const Tensor& values) {
  if (keys.requires_grad() || values.requires_grad())
    throw ValueError("KeyValueCache", "keys that need a gradient", "inference(..) or no_grad(..)");
  const std::int64_t end = size_ + keys.size(2);
  if (end > capacity_)
    throw ValueError("KeyValueCache", fmt::format("{} tokens", end), fmt::format("at most {}", capacity_));
  if (blocks_.size() <= block) blocks_.resize(block + 1);
  Block& kept = blocks_[block];
  const Shape shape{keys.size(0), keys.size(1), capacity_, keys.size(3)};
  if (size_ == 0 && (!kept.keys || kept.keys.shape() != shape || kept.keys.dtype() != keys.dtype()))
    kept = {empty(shape, keys.dtype()), empty(shape, values.dtype())};
  if (!kept.keys || kept.keys.shape() != shape || values.shape() != keys.shape())
    throw ShapeError("KeyValueCache",
                     fmt::format("keys {}, values {}", to_string(keys.shape()), to_string(values.shape())),
                     "the batch, heads and head_width of the tokens before");
  assign_(slice(kept.keys, 2, size_, end), keys);
  assign_(slice(kept.values, 2, size_, end), values);
  return {slice(kept.keys, 2, 0, end), slice(kept.values, 2, 0, end)};
}

std::int32_t sample_token(std::span<const float> logits, const GenerateOptions& options, double uniform) {
  check(options);
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  };
  if (std::any_of(logits.begin(), logits.end(), [](float x) { return std::isnan(x) || x == INFINITY; }) ||
      std::none_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }))
    throw NonFiniteError("generate", "logits that are not finite", "a model whose training went well");
  const std::int32_t best = *std::min_element(order.begin(), order.end(), likelier);
  if (options.temperature == 0) return best;

  const std::size_t k = options.top_k == 0 ? order.size() : static_cast<std::size_t>(options.top_k);
  if (k < order.size()) {
    std::partial_sort(order.begin(), order.begin() + options.top_k, order.end(), likelier);
    order.resize(k);
  } else if (options.top_p < 1) {
    std::sort(order.begin(), order.end(), likelier);
  }
  std::vector<double> sums;  // of the weights up to each token
  double sum = 0;
  for (const std::int32_t token : order)
    sums.push_back(sum += std::exp((double{logit(token)} - logit(best)) / options.temperature));
  const auto reaching = [&](double share) {
    return std::min<std::size_t>(
        sums.size() - 1, static_cast<std::size_t>(
                             std::lower_bound(sums.begin(), sums.end(), share * sums.back()) - sums.begin()));
  };
  if (options.top_p < 1) sums.resize(reaching(options.top_p) + 1);
  // The first whose sum is above: one of weight 0 is never drawn.
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), uniform * sums.back());
  const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
  return order[static_cast<std::size_t>(std::min(drawn, last) - sums.begin())];
}

namespace detail {

std::vector<std::int32_t> generate(const NextToken& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options) {
  check(options);
  if (prompt.empty()) throw ValueError("generate", "an empty prompt", "at least one token");
  return inference([&] {
    std::vector<std::int32_t> all(prompt.begin(), prompt.end());
    KeyValueCache cache(std::min(model.context, std::ssize(all) + options.max_new_tokens));
    std::int64_t cached_from = 0;
    for (int i = 0; i < options.max_new_tokens; ++i) {
      const std::int64_t begin = window_begin(static_cast<std::int64_t>(all.size()), model.context);
      if (begin != cached_from) cache.clear();
      cached_from = begin;
      const Tensor logits = options.cache ? model.logits(tokens_from(all, begin + cache.size()), &cache)
                                          : model.logits(tokens_from(all, begin), nullptr);
      const std::int32_t token =
          sample_token(as_floats(logits), options, uniform(options.seed, static_cast<std::uint64_t>(i)));
      if (std::find(options.stop_tokens.begin(), options.stop_tokens.end(), token) !=
          options.stop_tokens.end())
        break;
      all.push_back(token);
      if (options.each && !options.each(token)) break;
    }
    return std::vector<std::int32_t>(all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end());
  });
}

}  // namespace detail

}  // namespace halftone::models
