// SPDX-License-Identifier: Apache-2.0
//
// What a tokenizer is made of: tokens, merges, and the steps from a text to the pieces that are merged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/tokenizer_split.h"

namespace halftone::data {

struct Merge {
  std::int32_t rank, id;
};

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
};

struct SplitStep {
  enum class Prefix { none, first, always };  // first: at the beginning of the whole text only
  Regex regex = {};
  std::string space = " ";        // what spaces are replaced by
  Prefix prefix = Prefix::none;   // `space` goes before a text that does not begin with it
  bool cut_before_space = false;  // instead of by the regular expression
};

struct TokenizerModel {
  std::string name;
  std::string json;                                   // the file
  std::vector<std::string> tokens;                    // by id; bytes if byte_level, else as in the file
  std::unordered_map<std::string, std::int32_t> ids;  // added tokens are not in it
  std::unordered_map<std::uint64_t, Merge> merges;    // by pair_key
  std::int32_t unknown = -1;
  bool byte_level = false, byte_fallback = false, fuse_unknown = false, ignore_merges = false;

  std::vector<AddedToken> raw_added, normalized_added;  // the latter are sought after normalizing
  std::vector<bool> known, is_added;                    // by id
  std::vector<std::int32_t> beginning;                  // post-processor: ids before a text

  std::string prepend;                                        // normalizer
  std::vector<std::pair<std::string, std::string>> replace;   // normalizer
  bool prepend_first = true;                                  // before the replacements
  std::vector<SplitStep> splits;                              // pre-tokenizer
  std::vector<std::pair<std::string, std::string>> put_back;  // decoder: Replace
  std::string strip;                                          // decoder: Strip, this character
  std::size_t strip_start = 0;                                // so often at the start
  std::string drop;                                           // decoder: not in the first token
  bool decodes_fallback = false;                              // decoder: tokens that name bytes are bytes
};

inline std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The ids of one piece, appended to `ids`: merges in the order of their ranks, leftmost first.
void append_piece(const TokenizerModel& model, std::string_view piece, std::vector<std::int32_t>& ids);

// What the normalizer makes of a text.
std::string normalize(const TokenizerModel& model, std::string_view text);

std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// Bytes as the printable characters by which byte-level files name them, and back (false: not such a name).
std::string byte_level_name(std::string_view bytes);
bool from_byte_level_name(std::string_view name, std::string& bytes);

// A byte-level model with ids 0..255 for the bytes and one merge after the other.
TokenizerModel train_model(std::string_view text, std::int64_t vocabulary);
std::string byte_level_json(const std::vector<std::string>& tokens,
                            const std::vector<std::pair<std::int32_t, std::int32_t>>& merges, bool use_regex);
TokenizerModel parse_tokenizer(const std::string& where, const std::string& text);

}  // namespace halftone::data
