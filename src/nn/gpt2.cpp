// SPDX-License-Identifier: Apache-2.0
//
// GPT-2 beyond its blocks: initial values as published (normal 0.02, what enters the residual stream smaller
// by the square root of the number of its sources), and how tokens become hidden states.
#include "halftone/gpt2.h"

#include <cmath>

#include "nn/heads.h"
#include "nn/model_options.h"

namespace halftone::models {
namespace {

constexpr double kDeviation = 0.02;

double residual_deviation(const Gpt2Options& options) { return kDeviation / std::sqrt(2.0 * options.layers); }

}  // namespace

Gpt2Options Gpt2Options::filled() const {
  const OptionCheck check{"Gpt2"};
  check.size("vocabulary", vocabulary), check.size("context", context), check.size("width", width);
  check.size("layers", layers), check.size("heads", heads);
  check.divides("heads", heads, "width", width);
  check.positive("epsilon", epsilon);
  check.dropout("dropout", dropout), check.dropout("attention_dropout", attention_dropout);
  return *this;
}

Gpt2Mlp::Gpt2Mlp(const Gpt2Options& o)
    : c_fc(nn::Linear::normal(o.width, 4 * o.width, kDeviation)),
      c_proj(nn::Linear::normal(4 * o.width, o.width, residual_deviation(o))) {}

Gpt2Attention::Gpt2Attention(const Gpt2Options& o)
    : c_attn(nn::Linear::normal(o.width, 3 * o.width, kDeviation)),
      c_proj(nn::Linear::normal(o.width, o.width, residual_deviation(o))),
      heads(o.heads),
      dropout(o.attention_dropout) {}

Tensor Gpt2Attention::operator()(const Tensor& x, KeyValueCache* cache, std::size_t block) const {
  const Tensor qkv = c_attn(x);
  const AttentionOptions options{.causal = true, .dropout = dropout};
  if (cache == nullptr) return c_proj(self_attention(qkv, heads, options));
  const std::int64_t width = x.size(2);
  const auto part = [&](std::int64_t number) {
    return split_heads(slice(qkv, 2, number * width, (number + 1) * width), heads);
  };
  const auto seen = cache->append(block, part(1), part(2));
  return c_proj(merge_heads(attention(part(0), seen.first, seen.second, options)));
}

Gpt2::Gpt2(const Gpt2Options& options)
    : options(options.filled()),
      wte(options.vocabulary, options.width),
      wpe(options.context, options.width),
      ln_f(options.width, options.epsilon) {
  for (int i = 0; i < options.layers; ++i) h.emplace_back(options);
}

Tensor Gpt2::hidden(const Tensor& tokens, KeyValueCache* cache) const {
  const std::int64_t first = cache != nullptr ? cache->size() : 0;
  check_tokens("Gpt2", tokens, first, options.context);
  Tensor x = dropout(wte(tokens) + slice(wpe.weight, 0, first, first + tokens.size(1)), options.dropout);
  for (std::size_t i = 0; i < h.size(); ++i) {
    const Gpt2Block* block = &h[i];
    if (options.checkpoint && cache == nullptr)
      x = checkpoint([block](const std::vector<Tensor>& in) { return (*block)(in[0]); }, {x});
    else
      x = (*block)(x, cache, i);
  }
  if (cache != nullptr) cache->advance(tokens.size(1));
  return ln_f(x);
}

}  // namespace halftone::models
