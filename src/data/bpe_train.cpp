// SPDX-License-Identifier: Apache-2.0
//
// Training of byte pair encoding: distinct pieces with their counts, and pair counts that each merge updates
// only where it happened.
#include <queue>
#include <unordered_set>

#include "data/tokenizer_model.h"
#include "halftone/error.h"

namespace halftone::data {

namespace {

struct Word {
  std::vector<std::int32_t> ids;
  std::int64_t count = 0;
};

struct Pair {
  std::int64_t count = 0;
  std::vector<std::size_t> words;  // where it is or was
};

struct Offer {
  std::int64_t count;
  std::uint64_t key;
  bool operator<(const Offer& other) const {
    return count != other.count ? count < other.count : key > other.key;
  }
};

std::vector<Word> count_words(std::string_view text) {
  std::vector<std::string_view> pieces;
  Regex(kGpt2Pattern).split(text, pieces);
  std::unordered_map<std::string_view, std::size_t> at;
  std::vector<Word> words;
  for (const std::string_view piece : pieces) {
    const auto [found, is_new] = at.try_emplace(piece, words.size());
    if (is_new) {
      words.emplace_back();
      for (const char c : piece) words.back().ids.push_back(static_cast<unsigned char>(c));
    }
    ++words[found->second].count;
  }
  return words;
}

class Trainer {
 public:
  explicit Trainer(std::string_view text) : words_(count_words(text)) {
    for (std::size_t i = 0; i < words_.size(); ++i) add(i, 1);
    push_grown();
  }

  // The most frequent pair, or false.
  bool next(std::int32_t& left, std::int32_t& right) {
    while (!heap_.empty()) {
      const Offer offer = heap_.top();
      heap_.pop();
      const std::int64_t count = pairs_[offer.key].count;
      if (count != offer.count) {
        if (count > 0 && count < offer.count) heap_.push({count, offer.key});
        continue;
      }
      left = static_cast<std::int32_t>(offer.key >> 32);
      right = static_cast<std::int32_t>(offer.key & 0xFFFFFFFFU);
      return true;
    }
    return false;
  }

  void merge(std::int32_t left, std::int32_t right, std::int32_t id) {
    std::vector<std::size_t> where;
    where.swap(pairs_[pair_key(left, right)].words);
    for (const std::size_t i : where) {
      std::vector<std::int32_t>& ids = words_[i].ids;
      std::vector<std::int32_t> merged;
      for (std::size_t j = 0; j < ids.size(); ++j)
        if (j + 1 < ids.size() && ids[j] == left && ids[j + 1] == right) {
          merged.push_back(id);
          ++j;
        } else {
          merged.push_back(ids[j]);
        }
      if (merged.size() == ids.size()) continue;
      add(i, -1);
      ids = merged;
      add(i, 1);
    }
    push_grown();
  }

 private:
  void add(std::size_t word, std::int64_t sign) {
    const std::vector<std::int32_t>& ids = words_[word].ids;
    for (std::size_t j = 0; j + 1 < ids.size(); ++j) {
      const std::uint64_t key = pair_key(ids[j], ids[j + 1]);
      Pair& pair = pairs_[key];
      pair.count += sign * words_[word].count;
      if (sign < 0) continue;
      if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
      grown_.insert(key);
    }
  }

  void push_grown() {
    for (const std::uint64_t key : grown_)
      if (const std::int64_t count = pairs_[key].count; count > 0) heap_.push({count, key});
    grown_.clear();
  }

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::unordered_set<std::uint64_t> grown_;
  std::priority_queue<Offer> heap_;
};

}  // namespace

TokenizerModel train_model(std::string_view text, std::int64_t vocabulary) {
  if (vocabulary < 256 || vocabulary > INT32_MAX)
    throw ValueError("train_bpe", "a vocabulary of " + std::to_string(vocabulary), "256 tokens or more",
                     "4096");
  std::vector<std::string> tokens;
  for (int i = 0; i < 256; ++i) tokens.emplace_back(1, static_cast<char>(i));
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;
  if (vocabulary > 256) {
    std::unordered_map<std::string, std::int32_t> ids;
    for (const std::string& token : tokens) ids.emplace(token, static_cast<std::int32_t>(ids.size()));
    Trainer trainer(text);
    std::int32_t left = 0, right = 0;
    while (static_cast<std::int64_t>(tokens.size()) < vocabulary && trainer.next(left, right)) {
      std::string token = tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)];
      // Two pairs may spell one token: it keeps its id.
      const auto [found, is_new] = ids.try_emplace(token, static_cast<std::int32_t>(tokens.size()));
      if (is_new) tokens.push_back(token);
      merges.emplace_back(left, right);
      trainer.merge(left, right, found->second);
    }
  }
  return parse_tokenizer("bpe", byte_level_json(tokens, merges, vocabulary > 256));
}

}  // namespace halftone::data
