// SPDX-License-Identifier: Apache-2.0
//
// Whole networks of the field, as modules whose parameters have the names that the published weights have.
#pragma once

#include <vector>

#include "halftone/nn.h"

namespace halftone::models {

// GPT-2 (Radford et al. 2019): learned positions, layer norm before each half of a block, gelu_tanh, and the
// embedding of the tokens as head.
struct Gpt2Options {
  int vocabulary = 256, context = 256, width = 384, layers = 6, heads = 6;
  double epsilon = 1e-5;
};

struct Gpt2Mlp {
  nn::Linear c_fc, c_proj;
  explicit Gpt2Mlp(int width) : c_fc(width, 4 * width), c_proj(4 * width, width) {}
  Tensor operator()(const Tensor& x) const { return c_proj(gelu_tanh(c_fc(x))); }
  void visit(auto&& each) { each("c_fc", c_fc), each("c_proj", c_proj); }
};

struct Gpt2Attention {
  nn::Linear c_attn, c_proj;
  int heads;
  Gpt2Attention(int width, int heads) : c_attn(width, 3 * width), c_proj(width, width), heads(heads) {}
  Tensor operator()(const Tensor& x) const {
    return c_proj(self_attention(c_attn(x), heads, {.causal = true}));
  }
  void visit(auto&& each) { each("c_attn", c_attn), each("c_proj", c_proj); }
};

struct Gpt2Block {
  nn::LayerNorm ln_1, ln_2;
  Gpt2Attention attn;
  Gpt2Mlp mlp;
  explicit Gpt2Block(const Gpt2Options& o)
      : ln_1(o.width, o.epsilon), ln_2(o.width, o.epsilon), attn(o.width, o.heads), mlp(o.width) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor y = x + attn(ln_1(x));
    return y + mlp(ln_2(y));
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
  Tensor hidden(const Tensor& tokens) const;
  Tensor operator()(const Tensor& tokens) const;
  Tensor loss(const Tensor& tokens, const Tensor& targets, CrossEntropyOptions options = {}) const;
  void visit(auto&& each) { each("wte", wte), each("wpe", wpe), each("h", h), each("ln_f", ln_f); }
};

}  // namespace halftone::models
