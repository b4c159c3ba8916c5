// SPDX-License-Identifier: Apache-2.0
//
// Text as token ids: bytes, byte pair encoding, and the tokenizer.json files of Hugging Face's `tokenizers`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::data {

struct TokenizerModel;  // src/data/tokenizer_model.h

// A shared handle: copies are cheap and may be used from several threads at once.
class Tokenizer {
 public:
  Tokenizer();  // bytes()
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);

  // Each byte is its own token: 256 of them.
  static Tokenizer bytes();

  // Byte pair encoding of bytes, trained on `text`: 256 bytes, then the pair that is most frequent inside the
  // pieces of GPT-2's split, again and again (of equally frequent pairs that of the smallest ids) until the
  // vocabulary has that size or no pair is left. Throws ValueError for a vocabulary below 256.
  static Tokenizer train_bpe(std::string_view text, std::int64_t vocabulary);

  // Reads a tokenizer.json, or that of a folder, with a BPE model: GPT-2's, Llama 3's and Llama 2's kinds,
  // old and new. Throws FileError if it is malformed, Unsupported if it has a part that would change ids and
  // that is not known here.
  static Tokenizer load(const std::filesystem::path& file);

  // Writes into a folder a tokenizer.json that load and `tokenizers` read, and beside it the
  // tokenizer_config.json by which transformers takes it as it is, where it would add a token to that of a
  // GPT-2. Each is there whole or not at all. Throws FileError.
  void save(const std::filesystem::path& folder) const;

  // Any bytes. Tokens for the start or end of a text are not added (beginning() has the former). Special
  // tokens written in the text become theirs, as in `tokenizers`. Throws ValueError for a part that the
  // vocabulary has no token for.
  std::vector<std::int32_t> encode(std::string_view text) const;

  // The text of ids, special tokens included. Byte-level: decode(encode(x)) is x for any bytes. Throws
  // ValueError for an id that is not in the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;

  // The special tokens that `tokenizers` puts before a text for the model, by the file's template; empty for
  // most.
  const std::vector<std::int32_t>& beginning() const;

  // What one token is in the middle of a text. Throws ValueError for an id that is not in the vocabulary.
  std::string bytes(std::int32_t id) const;
  // The same for whatever a model comes up with: an id without a token is U+FFFD, the replacement character.
  std::string shown(std::int32_t id) const;

  std::int64_t vocabulary() const;  // the largest id, plus 1
  // The same without the added tokens behind the others, such as one for padding: what a model has at least.
  std::int64_t base_vocabulary() const;
  const std::string& name()
      const;  // "bytes", "bpe" or the file's kind: "byte-level bpe", "byte-fallback bpe"

 private:
  bool has(std::int32_t id) const;

  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace halftone::data
