// SPDX-License-Identifier: Apache-2.0
//
// Text from a decoder, token by token: the keys and values of what it has seen are kept, so that a new token
// costs one token's work; the next one is drawn by a counter-based random number, so that a seed gives the
// same text again.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/ops.h"
#include "halftone/tensor.h"

namespace halftone::models {

// Keys and values of the tokens seen so far, per block, in the format in which the model made them.
class KeyValueCache {
 public:
  explicit KeyValueCache(std::int64_t capacity);  // in tokens
  std::int64_t size() const { return size_; }     // tokens that every block has seen
  // Puts keys and values (batch, kv_heads, tokens, head_width) of tokens size(), size() + 1, .. behind those
  // of block number `block`, and returns all of them. Throws ValueError past the capacity, ShapeError for
  // other batches or heads than before.
  std::pair<Tensor, Tensor> append(std::size_t block, const Tensor& keys, const Tensor& values);
  void advance(std::int64_t tokens) { size_ += tokens; }  // when all blocks have them
  void clear() { size_ = 0; }

 private:
  struct Block {
    Tensor keys, values;
  };
  std::vector<Block> blocks_;
  std::int64_t capacity_, size_ = 0;
};

struct GenerateOptions {
  int max_new_tokens = 100;
  double temperature = 1;  // logits are divided by it; 0: always the likeliest token
  int top_k = 0;           // only the k likeliest tokens; 0: all
  double top_p = 1;        // only the fewest likeliest tokens that together have this probability
  std::uint64_t seed = 0;  // token number i is drawn by random numbers 2 i and 2 i + 1
  std::vector<std::int32_t> stop_tokens{};  // generation ends before one of them
  bool cache = true;                        // false: every token is computed from all before it (for tests)
  // Called with each new token; false ends generation.
  std::function<bool(std::int32_t token)> each{};
};

// The token drawn from the softmax of logits (vocabulary), tempered and restricted as the options say, by the
// number `uniform` in [0, 1). Of equal logits the first counts as likelier.
std::int32_t sample_token(std::span<const float> logits, const GenerateOptions& options, double uniform);

// What generate() needs of a model: hidden states (batch, tokens, width) of tokens (batch, tokens) that
// follow those in the cache, and logits of hidden states.
template <class M>
concept Decoder = requires(const M& model, const Tensor& tensor, KeyValueCache* cache) {
  { model.hidden(tensor, cache) } -> std::convertible_to<Tensor>;
  { model.logits(tensor) } -> std::convertible_to<Tensor>;
  { model.options.context } -> std::convertible_to<std::int64_t>;
};

namespace detail {
struct NextToken {
  std::int64_t context;
  std::function<Tensor(const Tensor& tokens, KeyValueCache* cache)> logits;  // of the last token
};
std::vector<std::int32_t> generate(const NextToken& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options);
}  // namespace detail

// The tokens that follow the prompt. Runs in inference mode, in the autocast region of the caller. When
// prompt and text exceed the model's context, its window slides: it begins where half a context's worth of
// tokens (or a multiple) has been left out, and the cache is built anew, once every context / 2 tokens.
// Throws ValueError for an empty prompt or options out of range.
template <Decoder M>
std::vector<std::int32_t> generate(const M& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options = {}) {
  const auto logits = [&](const Tensor& tokens, KeyValueCache* cache) {
    const Tensor x = model.hidden(tokens, cache);
    return model.logits(slice(x, 1, x.size(1) - 1, x.size(1)));
  };
  return detail::generate({model.options.context, logits}, prompt, options);
}

}  // namespace halftone::models
