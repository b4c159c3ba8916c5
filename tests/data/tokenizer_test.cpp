// SPDX-License-Identifier: Apache-2.0
//
// Ids and texts against Hugging Face's `tokenizers` (tests/fixtures/tokenizers/make.py), and exact round
// trips.
#include "halftone/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/scratch.h"

namespace halftone::data {
namespace {

using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path folder =
    std::filesystem::path(HALFTONE_SOURCE_DIR) / "tests" / "fixtures" / "tokenizers";

// Every byte, every pair of bytes with a stride, and text.
std::string all_kinds_of_bytes() {
  std::string text = "In the beginning, \xF0\x9F\x98\x80 caf\xC3\xA9\n\n  \t1234 it's";
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  for (int i = 0; i < 65536; i += 7) (text += static_cast<char>(i >> 8)) += static_cast<char>(i);
  return text;
}

class Fixture : public ::testing::TestWithParam<const char*> {};

TEST_P(Fixture, GivesTheIdsAndTextsOfHuggingFace) {
  const Tokenizer tokenizer = Tokenizer::load(folder / (std::string(GetParam()) + ".json"));
  const auto cases = nlohmann::json::parse(read_bytes(folder / (std::string(GetParam()) + ".cases.json")));
  ASSERT_GT(cases.size(), 30U);
  for (const auto& each : cases) {
    const auto text = each.at("text").get<std::string>();
    const auto ids = each.at("ids").get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer.encode(text), ids) << "'" << text << "'";
    EXPECT_EQ(tokenizer.decode(ids), each.at("decoded").get<std::string>()) << "'" << text << "'";
  }
}

TEST_P(Fixture, SavesWhatItLoaded) {
  const Scratch scratch;
  const Tokenizer tokenizer = Tokenizer::load(folder / (std::string(GetParam()) + ".json"));
  tokenizer.save(scratch.path());
  EXPECT_EQ(read_bytes(scratch / "tokenizer.json"), read_bytes(folder / (std::string(GetParam()) + ".json")));
}

INSTANTIATE_TEST_SUITE_P(All, Fixture,
                         ::testing::Values("gpt2", "gpt2_space", "llama3", "llama2", "llama2_normalized",
                                           "metaspace_first", "metaspace_always", "metaspace_never"));

TEST(Tokenizer, BytesAreTheirOwnIds) {
  const Tokenizer tokenizer;
  EXPECT_EQ(tokenizer.vocabulary(), 256);
  EXPECT_EQ(tokenizer.name(), "bytes");
  EXPECT_THAT(tokenizer.encode("A\xFF\n"), ElementsAre(65, 255, 10));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_EQ(tokenizer.bytes(200), "\xC8");
}

TEST(Tokenizer, ByteLevelRoundTripsAnyBytes) {
  const std::string text = all_kinds_of_bytes();
  const Scratch scratch;
  for (const Tokenizer& made : {Tokenizer::bytes(), Tokenizer::train_bpe(text, 700)}) {
    made.save(scratch.path());
    const Tokenizer loaded = Tokenizer::load(scratch.path());
    EXPECT_EQ(loaded.name(), made.name());
    EXPECT_EQ(loaded.vocabulary(), made.vocabulary());
    EXPECT_EQ(loaded.encode(text), made.encode(text));
    EXPECT_EQ(made.decode(made.encode(text)), text);
  }
  for (const char* name : {"gpt2", "llama3"}) {
    const Tokenizer loaded = Tokenizer::load(folder / (std::string(name) + ".json"));
    EXPECT_EQ(loaded.decode(loaded.encode(text)), text) << name;
  }
  const Tokenizer fallback = Tokenizer::load(folder / "llama2.json");
  EXPECT_EQ(fallback.decode(fallback.encode("caf\xC3 \xFF\x80")), "caf\xC3 \xFF\x80");
}

// transformers makes one of its own classes, with a token more, of a folder that does not say this.
TEST(Tokenizer, TellsTransformersToTakeItAsItIs) {
  const Scratch scratch;
  Tokenizer::bytes().save(scratch.path());
  EXPECT_EQ(nlohmann::json::parse(read_bytes(scratch / "tokenizer_config.json")),
            (nlohmann::json{{"tokenizer_class", "PreTrainedTokenizerFast"}}));
}

TEST(Tokenizer, AddedTokensAreNotOfTheBaseVocabulary) {
  EXPECT_EQ(Tokenizer::bytes().base_vocabulary(), 256);
  const Scratch scratch;
  Tokenizer::bytes().save(scratch.path());
  nlohmann::json all = nlohmann::json::parse(read_bytes(scratch / "tokenizer.json"));
  all["added_tokens"] = {{{"id", 256}, {"content", "<pad>"}},
                         {{"id", 257}, {"content", "<end>"}, {"normalized", true}}};
  write_bytes(scratch / "tokenizer.json", all.dump());
  const Tokenizer tokenizer = Tokenizer::load(scratch.path());
  EXPECT_EQ(tokenizer.vocabulary(), 258);
  EXPECT_EQ(tokenizer.base_vocabulary(), 256);
  EXPECT_THAT(tokenizer.encode("a<pad><pa<end>"), ElementsAre('a', 256, '<', 'p', 'a', 257));
}

TEST(Tokenizer, RefusesIdsThatItDoesNotHave) {
  const Tokenizer tokenizer;
  for (const std::int32_t id : {-1, 256})
    EXPECT_THAT(message_of<ValueError>([&] { tokenizer.bytes(id); }), HasSubstr("expected an id below 256"));
}

}  // namespace
}  // namespace halftone::data
