// SPDX-License-Identifier: Apache-2.0
//
// Llama (Touvron et al. 2023): rotary positions, RMS norm before each half of a block, a gated feed-forward
// layer (SwiGLU, Shazeer 2020), query heads that share key heads (Ainslie et al. 2023), no biases.
// Parameters have the names of the published weights.
#pragma once

#include <vector>

#include "halftone/generation.h"
#include "halftone/nn.h"

namespace halftone::models {

struct LlamaOptions {
  int vocabulary = 256, context = 256, width = 384, layers = 6, heads = 6;
  int kv_heads = 0;      // heads of keys and values; 0: as many as of queries
  int intermediate = 0;  // width between the halves of the feed-forward layer; 0: 8/3 width, up to a
                         // multiple of 32
  int head_width = 0;    // 0: width / heads
  double epsilon = 1e-6;
  double rope_theta = 10000;        // base of the rotary positions
  RotaryScaling rope_scaling = {};  // of their rates
  bool tied = false;                // the embedding of the tokens is the head, too
  bool checkpoint = false;          // blocks keep only their inputs and are computed again by backward
  LlamaOptions filled() const;  // with what 0 stands for. Throws ValueError naming the option that can not be
};

struct LlamaMlp {
  nn::Linear gate_proj, up_proj, down_proj;
  explicit LlamaMlp(const LlamaOptions& options);
  Tensor operator()(const Tensor& x) const { return down_proj(silu(gate_proj(x)) * up_proj(x)); }
  void visit(auto&& each) {
    each("gate_proj", gate_proj), each("up_proj", up_proj), each("down_proj", down_proj);
  }
};

struct LlamaAttention {
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  int heads, kv_heads, head_width;
  double rope_theta;
  RotaryScaling rope_scaling;
  explicit LlamaAttention(const LlamaOptions& options);
  // With a cache: for tokens that follow those in it, as block number `block`.
  Tensor operator()(const Tensor& x, KeyValueCache* cache = nullptr, std::size_t block = 0) const;
  void visit(auto&& each) {
    each("q_proj", q_proj), each("k_proj", k_proj), each("v_proj", v_proj), each("o_proj", o_proj);
  }
};

struct LlamaBlock {
  nn::RmsNorm input_layernorm, post_attention_layernorm;
  LlamaAttention self_attn;
  LlamaMlp mlp;
  explicit LlamaBlock(const LlamaOptions& o)
      : input_layernorm(o.width, o.epsilon),
        post_attention_layernorm(o.width, o.epsilon),
        self_attn(o),
        mlp(o) {}
  Tensor operator()(const Tensor& x, KeyValueCache* cache = nullptr, std::size_t block = 0) const {
    const Tensor y = x + self_attn(input_layernorm(x), cache, block);
    return y + mlp(post_attention_layernorm(y));
  }
  void visit(auto&& each) {
    each("self_attn", self_attn), each("mlp", mlp), each("input_layernorm", input_layernorm);
    each("post_attention_layernorm", post_attention_layernorm);
  }
};

struct Llama {
  LlamaOptions options;  // filled
  nn::Embedding embed_tokens;
  std::vector<LlamaBlock> layers;
  nn::RmsNorm norm;
  Tensor lm_head;  // (vocabulary, width); undefined if tied
  explicit Llama(const LlamaOptions& options);
  // As Gpt2: tokens, int32 (batch, context), to hidden states, logits and the mean cross-entropy.
  Tensor hidden(const Tensor& tokens, KeyValueCache* cache = nullptr) const;
  const Tensor& head() const { return options.tied ? embed_tokens.weight : lm_head; }
  Tensor logits(const Tensor& hidden) const { return linear(hidden, head()); }
  Tensor operator()(const Tensor& tokens) const { return logits(hidden(tokens)); }
  Tensor loss(const Tensor& tokens, const Tensor& targets, CrossEntropyOptions options = {}) const {
    return linear_cross_entropy(hidden(tokens), head(), targets, options);
  }
  void visit(auto&& each) {
    each("model.embed_tokens", embed_tokens), each("model.layers", layers), each("model.norm", norm);
    each("lm_head.weight", lm_head);
  }
};

}  // namespace halftone::models
