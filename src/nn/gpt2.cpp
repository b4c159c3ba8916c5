// SPDX-License-Identifier: Apache-2.0
//
// GPT-2 beyond its blocks: initial values as published (normal 0.02, what enters the residual stream smaller
// by the square root of the number of its sources), and how tokens become logits.
#include <cmath>

#include "halftone/models.h"
#include "nn/init.h"

namespace halftone::models {

Gpt2::Gpt2(const Gpt2Options& options)
    : options(options),
      wte(options.vocabulary, options.width),
      wpe(options.context, options.width),
      ln_f(options.width, options.epsilon) {
  const double deviation = 0.02, residual = deviation / std::sqrt(2.0 * options.layers);
  const auto reset = [](nn::Linear& linear, double spread) {
    linear.weight = nn::normal_parameter(linear.weight.shape(), spread);
    linear.bias = nn::constant_parameter(linear.bias.shape(), 0);
  };
  for (int i = 0; i < options.layers; ++i) {
    Gpt2Block& block = h.emplace_back(options);
    reset(block.attn.c_attn, deviation);
    reset(block.attn.c_proj, residual);
    reset(block.mlp.c_fc, deviation);
    reset(block.mlp.c_proj, residual);
  }
}

Tensor Gpt2::hidden(const Tensor& tokens) const {
  if (tokens.rank() != 2 || tokens.size(1) > options.context)
    throw ShapeError("Gpt2", "tokens " + to_string(tokens.shape()),
                     "(batch, context) of at most " + std::to_string(options.context) + " tokens");
  Tensor x = wte(tokens) + slice(wpe.weight, 0, 0, tokens.size(1));
  for (const Gpt2Block& block : h) x = block(x);
  return ln_f(x);
}

Tensor Gpt2::operator()(const Tensor& tokens) const { return linear(hidden(tokens), wte.weight); }

Tensor Gpt2::loss(const Tensor& tokens, const Tensor& targets, CrossEntropyOptions options) const {
  return linear_cross_entropy(hidden(tokens), wte.weight, targets, options);
}

}  // namespace halftone::models
