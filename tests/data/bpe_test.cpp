// SPDX-License-Identifier: Apache-2.0
//
// Merging against the definition: of all adjacent pairs the one of the lowest rank, leftmost first, over and
// over.
#include <gtest/gtest.h>

#include "data/tokenizer_model.h"
#include "halftone/random.h"

namespace halftone::data {
namespace {

std::vector<std::int32_t> by_definition(const TokenizerModel& model, const std::string& text) {
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  for (;;) {
    std::size_t at = 0;
    Merge best{INT32_MAX, 0};
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      if (const auto found = model.merges.find(pair_key(ids[i], ids[i + 1]));
          found != model.merges.end() && found->second.rank < best.rank) {
        best = found->second;
        at = i;
      }
    if (best.rank == INT32_MAX) return ids;
    ids[at] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, MergesAsDefined) {
  std::string text;
  for (std::uint64_t i = 0; i < 3000; ++i) text += static_cast<char>('a' + random_bits(1, i, 0) % 3);
  const TokenizerModel model = train_model(text, 330);
  ASSERT_GT(model.merges.size(), 60U);
  for (std::uint64_t i = 0; i < 300; ++i) {
    std::string piece;
    for (std::uint64_t j = 0; j < i; ++j) piece += static_cast<char>('a' + random_bits(2, i, j) % 3);
    std::vector<std::int32_t> ids;
    append_piece(model, piece, ids);
    EXPECT_EQ(ids, by_definition(model, piece)) << piece;
  }
}

}  // namespace
}  // namespace halftone::data
