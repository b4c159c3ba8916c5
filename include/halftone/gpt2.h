// SPDX-License-Identifier: Apache-2.0
//
// GPT-2 (Radford et al. 2019): learned positions, layer norm before each half of a block, gelu_tanh, and the
// embedding of the tokens as head. Parameters have the names of the published weights.
#pragma once

#include <vector>

#include "halftone/generation.h"
#include "halftone/nn.h"

namespace halftone::models {

struct Gpt2Options {
  int vocabulary = 256, context = 256, width = 384, layers = 6, heads = 6;
  double epsilon = 1e-5;
  double dropout = 0;            // of the embedding and of what each half of a block adds
  double attention_dropout = 0;  // of the shares of attention
  bool checkpoint = false;       // blocks keep only their inputs and are computed again by backward
  Gpt2Options filled() const;    // as they are. Throws ValueError naming the option that can not be
};

struct Gpt2Mlp {
  nn::Linear c_fc, c_proj;
  explicit Gpt2Mlp(const Gpt2Options& options);
  Tensor operator()(const Tensor& x) const { return c_proj(gelu_tanh(c_fc(x))); }
  void visit(auto&& each) { each("c_fc", c_fc), each("c_proj", c_proj); }
};

struct Gpt2Attention {
  nn::Linear c_attn, c_proj;
  int heads;
  double dropout;
  explicit Gpt2Attention(const Gpt2Options& options);
  // With a cache: for tokens that follow those in it, as block number `block`.
  Tensor operator()(const Tensor& x, KeyValueCache* cache = nullptr, std::size_t block = 0) const;
  void visit(auto&& each) { each("c_attn", c_attn), each("c_proj", c_proj); }
};

struct Gpt2Block {
  nn::LayerNorm ln_1, ln_2;
  Gpt2Attention attn;
  Gpt2Mlp mlp;
  nn::Dropout drop;
  explicit Gpt2Block(const Gpt2Options& o)
      : ln_1(o.width, o.epsilon), ln_2(o.width, o.epsilon), attn(o), mlp(o), drop{o.dropout} {}
  Tensor operator()(const Tensor& x, KeyValueCache* cache = nullptr, std::size_t block = 0) const {
    const Tensor y = x + drop(attn(ln_1(x), cache, block));
    return y + drop(mlp(ln_2(y)));
  }
  void visit(auto&& each) { each("ln_1", ln_1), each("attn", attn), each("ln_2", ln_2), each("mlp", mlp); }
};

struct Gpt2 {
  Gpt2Options options;
  nn::Embedding wte, wpe;
  std::vector<Gpt2Block> h;
  nn::LayerNorm ln_f;
  explicit Gpt2(const Gpt2Options& options);
  // tokens, int32 (batch, context up to options.context): the normed residual stream (batch, context, width),
  // logits (batch, context, vocabulary), and the mean cross-entropy against targets (batch, context).
  // With a cache, tokens follow those in it, and are added.
  Tensor hidden(const Tensor& tokens, KeyValueCache* cache = nullptr) const;
  Tensor logits(const Tensor& hidden) const { return linear(hidden, wte.weight); }
  Tensor operator()(const Tensor& tokens) const { return logits(hidden(tokens)); }
  Tensor loss(const Tensor& tokens, const Tensor& targets, CrossEntropyOptions options = {}) const {
    return linear_cross_entropy(hidden(tokens), wte.weight, targets, options);
  }
  void visit(auto&& each) { each("wte", wte), each("wpe", wpe), each("h", h), each("ln_f", ln_f); }
};

}  // namespace halftone::models
