// SPDX-License-Identifier: Apache-2.0
//
// Llama beyond its blocks: what options stand for, initial values (normal 0.02), and how tokens become hidden
// states.
#include "halftone/llama.h"

#include <tuple>

#include "nn/heads.h"
#include "nn/init.h"
#include "nn/model_options.h"

namespace halftone::models {
namespace {

constexpr double kDeviation = 0.02;

nn::Linear layer(int in, int out) { return nn::Linear::normal(in, out, kDeviation, false); }

}  // namespace

LlamaOptions LlamaOptions::filled() const {
  const OptionCheck check{"Llama"};
  LlamaOptions o = *this;
  check.size("vocabulary", o.vocabulary), check.size("context", o.context), check.size("width", o.width);
  check.size("layers", o.layers), check.size("heads", o.heads);
  check.positive("epsilon", o.epsilon), check.positive("rope_theta", o.rope_theta);
  check.require(o.rope_scaling.valid(), "rope_scaling by", o.rope_scaling.factor,
                "a positive factor, and frequencies in ascending order");
  if (o.kv_heads == 0) o.kv_heads = o.heads;
  check.size("kv_heads", o.kv_heads);
  check.divides("kv_heads", o.kv_heads, "heads", o.heads);
  if (o.head_width == 0) {
    check.divides("heads", o.heads, "width", o.width);
    o.head_width = o.width / o.heads;
  }
  check.require(o.head_width >= 2 && o.head_width % 2 == 0, "head_width", o.head_width,
                "an even number: rotary positions turn pairs");
  if (o.intermediate == 0) o.intermediate = check.fitting("intermediate", std::int64_t{8} * o.width / 3, 32);
  check.size("intermediate", o.intermediate);
  return o;
}

LlamaMlp::LlamaMlp(const LlamaOptions& o)
    : gate_proj(layer(o.width, o.intermediate)),
      up_proj(layer(o.width, o.intermediate)),
      down_proj(layer(o.intermediate, o.width)) {}

LlamaAttention::LlamaAttention(const LlamaOptions& o)
    : q_proj(layer(o.width, o.heads * o.head_width)),
      k_proj(layer(o.width, o.kv_heads * o.head_width)),
      v_proj(layer(o.width, o.kv_heads * o.head_width)),
      o_proj(layer(o.heads * o.head_width, o.width)),
      heads(o.heads),
      kv_heads(o.kv_heads),
      head_width(o.head_width),
      rope_theta(o.rope_theta),
      rope_scaling(o.rope_scaling) {}

Tensor LlamaAttention::operator()(const Tensor& x, KeyValueCache* cache, std::size_t block) const {
  const std::int64_t first = cache != nullptr ? cache->size() : 0;
  const Tensor q = rotary(split_heads(q_proj(x), heads), rope_theta, first, rope_scaling);
  Tensor k = rotary(split_heads(k_proj(x), kv_heads), rope_theta, first, rope_scaling);
  Tensor v = split_heads(v_proj(x), kv_heads);
  if (cache != nullptr) std::tie(k, v) = cache->append(block, k, v);
  return o_proj(merge_heads(attention(q, k, v, {.causal = true})));
}

Llama::Llama(const LlamaOptions& given)
    : options(given.filled()),
      embed_tokens(options.vocabulary, options.width),
      norm(options.width, options.epsilon) {
  for (int i = 0; i < options.layers; ++i) layers.emplace_back(options);
  if (!options.tied) lm_head = nn::normal_parameter({options.vocabulary, options.width}, kDeviation);
}

Tensor Llama::hidden(const Tensor& tokens, KeyValueCache* cache) const {
  check_tokens("Llama", tokens, cache != nullptr ? cache->size() : 0, options.context);
  Tensor x = embed_tokens(tokens);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LlamaBlock* block = &layers[i];
    if (options.checkpoint && cache == nullptr)
      x = checkpoint([block](const std::vector<Tensor>& in) { return (*block)(in[0]); }, {x});
    else
      x = (*block)(x, cache, i);
  }
  if (cache != nullptr) cache->advance(tokens.size(1));
  return norm(x);
}

}  // namespace halftone::models
