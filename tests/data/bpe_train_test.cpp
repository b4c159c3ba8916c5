// SPDX-License-Identifier: Apache-2.0
//
// Training against the definition: all pairs are counted anew before each merge.
#include <gtest/gtest.h>

#include <map>

#include "data/scratch.h"
#include "data/tokenizer_model.h"
#include "halftone/random.h"

namespace halftone::data {
namespace {

std::vector<std::string> by_definition(const std::string& text, std::size_t vocabulary) {
  std::vector<std::string_view> pieces;
  Regex(kGpt2Pattern).split(text, pieces);
  std::vector<std::vector<std::int32_t>> words;
  for (const std::string_view piece : pieces) {
    words.emplace_back();
    for (const char c : piece) words.back().push_back(static_cast<unsigned char>(c));
  }
  std::vector<std::string> tokens;
  for (int i = 0; i < 256; ++i) tokens.emplace_back(1, static_cast<char>(i));
  while (tokens.size() < vocabulary) {
    std::map<std::pair<std::int32_t, std::int32_t>, int> counts;
    for (const auto& word : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    if (counts.empty()) break;
    auto best = counts.begin();
    for (auto it = counts.begin(); it != counts.end(); ++it)
      if (it->second > best->second) best = it;
    const auto [left, right] = best->first;
    const std::string token =
        tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)];
    const auto found = std::find(tokens.begin(), tokens.end(), token);
    const auto id = static_cast<std::int32_t>(found - tokens.begin());
    if (found == tokens.end()) tokens.push_back(token);
    for (auto& word : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i)
        if (word[i] == left && word[i + 1] == right) {
          word[i] = id;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return tokens;
}

TEST(BpeTrain, FindsTheTokensOfTheDefinition) {
  for (const std::uint64_t letters : {1, 2, 3, 9}) {
    std::string text;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const std::uint64_t draw = random_bits(letters, i, 0) % (letters + 1);
      text += draw == letters && i % 3 == 0 ? ' ' : static_cast<char>('a' + draw % letters);
    }
    EXPECT_EQ(train_model(text, 400).tokens, by_definition(text, 400)) << letters;
  }
}

TEST(BpeTrain, EndsWhenNoPairIsLeft) {
  EXPECT_EQ(train_model("ab ab", 1000).tokens.size(), 258U);  // "ab", " ab"
  EXPECT_EQ(train_model("", 1000).tokens.size(), 256U);
}

TEST(BpeTrain, RefusesASmallVocabulary) {
  EXPECT_NE(
      testing::message_of<ValueError>([] { train_model("a", 255); }).find("expected 256 tokens or more"),
      std::string::npos);
}

}  // namespace
}  // namespace halftone::data
