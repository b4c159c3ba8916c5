// SPDX-License-Identifier: Apache-2.0
//
// Byte pair encoding of one piece: a list of symbols, and a heap of the pairs that could be merged.
#include <fmt/core.h>

#include <queue>

#include "data/tokenizer_model.h"
#include "halftone/error.h"

namespace halftone::data {

namespace {

struct Symbol {
  std::int32_t id, previous, next;  // -1: none; id -1: merged into the one before
};

struct Candidate {
  std::int32_t rank, at, left, right, id;
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

// Bytes of the character that begins the text; 1 if it is not UTF-8.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xC2 ? 1
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                           : first < 0xF5 ? 4
                                          : 1;
  if (size > text.size()) return 1;
  for (std::size_t i = 1; i < size; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 1;
  return size;
}

// A character, or a byte that is none.
std::string in_words(const std::string& part) {
  const auto first = static_cast<unsigned char>(part[0]);
  return part.size() > 1 || first < 0x80 ? fmt::format("'{}'", part)
                                         : fmt::format("the byte 0x{:02X}", first);
}

void first_ids(const TokenizerModel& model, std::string_view piece, std::vector<std::int32_t>& ids) {
  bool after_unknown = false;
  while (!piece.empty()) {
    const std::size_t size = model.byte_level ? 1 : character(piece);
    const std::string part(piece.substr(0, size));
    piece.remove_prefix(size);
    const auto unknown = [&] {
      if (model.unknown < 0)
        throw ValueError("tokenizer",
                         fmt::format("{}, which the vocabulary has no token for", in_words(part)),
                         "text of its characters",
                         model.byte_level ? "a tokenizer with all 256 bytes" : "a byte-level tokenizer");
      if (!(after_unknown && model.fuse_unknown)) ids.push_back(model.unknown);
      after_unknown = true;
    };
    if (const auto found = model.ids.find(part); found != model.ids.end()) {
      ids.push_back(found->second);
      after_unknown = false;
      continue;
    }
    std::vector<std::int32_t> bytes;
    if (model.byte_fallback)
      for (const char c : part)
        if (const auto found = model.ids.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(c)));
            found != model.ids.end())
          bytes.push_back(found->second);
    if (bytes.size() != size) {
      unknown();
      continue;
    }
    ids.insert(ids.end(), bytes.begin(), bytes.end());
    after_unknown = false;
  }
}

}  // namespace

void append_piece(const TokenizerModel& model, std::string_view piece, std::vector<std::int32_t>& ids) {
  if (model.ignore_merges)
    if (const auto whole = model.ids.find(std::string(piece)); whole != model.ids.end()) {
      ids.push_back(whole->second);
      return;
    }
  std::vector<std::int32_t> first;
  first_ids(model, piece, first);
  std::vector<Symbol> symbols;
  const auto count = static_cast<std::int32_t>(first.size());
  for (std::int32_t i = 0; i < count; ++i)
    symbols.push_back({first[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  const auto symbol = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };

  std::priority_queue<Candidate> heap;
  const auto offer = [&](std::int32_t at) {
    if (at < 0 || symbol(at).next < 0) return;
    const std::int32_t left = symbol(at).id, right = symbol(symbol(at).next).id;
    if (const auto merge = model.merges.find(pair_key(left, right)); merge != model.merges.end())
      heap.push({merge->second.rank, at, left, right, merge->second.id});
  };
  for (std::int32_t i = 0; i < count; ++i) offer(i);
  while (!heap.empty()) {
    const Candidate best = heap.top();
    heap.pop();
    Symbol& left = symbol(best.at);
    if (left.id != best.left || left.next < 0 || symbol(left.next).id != best.right) continue;  // gone
    Symbol& right = symbol(left.next);
    left.id = best.id;
    left.next = right.next;
    if (right.next >= 0) symbol(right.next).previous = best.at;
    right.id = -1;
    offer(left.previous);
    offer(best.at);
  }
  for (const Symbol& s : symbols)
    if (s.id >= 0) ids.push_back(s.id);
}

}  // namespace halftone::data
