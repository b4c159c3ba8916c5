// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/scratch.h"
#include "data/tokenizer_model.h"
#include "halftone/tokenizer.h"

namespace halftone::data {
namespace {

using halftone::testing::fuzz;
using halftone::testing::message_of;
using halftone::testing::Scratch;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json small() {
  return Json::parse(R"({"added_tokens": [{"id": 4, "content": "<e>", "special": true, "normalized": false}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3}, "merges": ["a b"]}})");
}

TEST(TokenizerJson, ReadsAFile) {
  const TokenizerModel model = parse_tokenizer("f", small().dump());
  EXPECT_EQ(model.tokens, (std::vector<std::string>{"a", "b", "ab", " ", "<e>"}));
  EXPECT_EQ(model.name, "byte-level bpe");
}

TEST(TokenizerJson, NamesOfBytesGoBothWays) {
  for (int i = 0; i < 256; ++i) {
    const std::string byte(1, static_cast<char>(i));
    std::string back;
    EXPECT_TRUE(from_byte_level_name(byte_level_name(byte), back));
    EXPECT_EQ(back, byte);
  }
  EXPECT_EQ(byte_level_name(" \n!"), "\xC4\xA0\xC4\x8A!");
  std::string ignored;
  EXPECT_FALSE(from_byte_level_name("\xE6\x97\xA5", ignored));
  EXPECT_FALSE(from_byte_level_name(" ", ignored));
}

template <class E>
std::string refusal(const char* pointer, const Json& value) {
  Json all = small();
  all[Json::json_pointer(pointer)] = value;
  return message_of<E>([&] { parse_tokenizer("f.json", all.dump()); });
}

TEST(TokenizerJson, SaysWhatIsWrong) {
  EXPECT_THAT(refusal<FileError>("/model/merges", {"a c"}),
              HasSubstr("[f.json] 'c', which the vocabulary lacks"));
  EXPECT_THAT(refusal<FileError>("/model/merges", {"ab"}), HasSubstr("the merge 'ab'; expected two tokens"));
  EXPECT_THAT(refusal<FileError>("/model/vocab/a", -1), HasSubstr("the id -1"));
  EXPECT_THAT(refusal<FileError>("/decoder", nullptr), HasSubstr("on one side only"));
  EXPECT_THAT(refusal<FileError>("/added_tokens/0/content", ""), HasSubstr("an empty added token"));
  EXPECT_THAT(refusal<FileError>("/model", nullptr), HasSubstr("expected a tokenizer.json"));
  EXPECT_THAT(refusal<FileError>("/model/vocab/a", "b"), HasSubstr("[f.json] type must be number"));
  EXPECT_THAT(refusal<Unsupported>("/model/type", "WordPiece"),
              HasSubstr("a model \"WordPiece\"; expected BPE"));
  for (const char* other : {"a text", "[]", "{\"a\": "})
    EXPECT_THAT(message_of<FileError>([&] { parse_tokenizer("f", other); }), HasSubstr("[f] no JSON object"));
  EXPECT_THAT(message_of<FileError>([&] { parse_tokenizer("vocab.json", R"({"a": 0})"); }),
              HasSubstr("no \"model\"; expected a tokenizer.json, not a vocab.json"));
  EXPECT_THAT(refusal<Unsupported>("/normalizer", {{"type", "NFC"}}), HasSubstr("the normalizer NFC"));
  EXPECT_THAT(refusal<FileError>("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", ""}}),
              HasSubstr("a Metaspace of nothing"));
  EXPECT_THAT(refusal<FileError>("/pre_tokenizer",
                                 {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}),
              HasSubstr("the prepend_scheme last; expected always, first or never"));
  EXPECT_THAT(refusal<Unsupported>("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(refusal<Unsupported>("/added_tokens/0/lstrip", true), HasSubstr("'<e>' with lstrip"));
  EXPECT_THAT(message_of<FileError>([] { Tokenizer::load("/nonexistent/t.json"); }),
              HasSubstr("expected a tokenizer.json"));
  EXPECT_THAT(refusal<FileError>("/post_processor", Json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<e>"}}], "special_tokens": {"<e>": {"ids": [5]}}})")),
              HasSubstr("the id 5 of '<e>'"));
  const std::string deep = std::string(R"({"pre_tokenizer": )").append(200000, '[');
  EXPECT_THAT(message_of<FileError>([&] { parse_tokenizer("f", deep); }), HasSubstr("nested too deeply"));
}

TEST(TokenizerJson, ATemplateSaysWhatGoesBeforeAText) {
  const Scratch scratch;
  Json all = small();
  const auto beginning = [&] {
    std::ofstream(scratch / "t.json") << all.dump();
    return Tokenizer::load(scratch / "t.json").beginning();
  };
  EXPECT_TRUE(beginning().empty());
  // As Llama 3's: a ByteLevel that changes no ids, and a template.
  all["post_processor"] = Json::parse(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
    {"type": "TemplateProcessing",
     "single": [{"SpecialToken": {"id": "<e>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "a", "type_id": 0}}],
     "special_tokens": {"<e>": {"id": "<e>", "ids": [4], "tokens": ["<e>"]},
                        "a": {"id": "a", "ids": [0], "tokens": ["a"]}}}]})");
  EXPECT_EQ(beginning(), std::vector<std::int32_t>{4});
}

TEST(TokenizerJson, AnIdWithoutATokenIsShownAsThat) {
  const Scratch scratch;
  Json all = small();
  all["model"]["vocab"]["c"] = 7;
  std::ofstream(scratch / "t.json") << all.dump();
  const Tokenizer tokenizer = Tokenizer::load(scratch / "t.json");
  EXPECT_EQ(tokenizer.shown(2), "ab");
  for (const std::int32_t id : {-1, 5, 6, 8}) {
    EXPECT_EQ(tokenizer.shown(id), "\uFFFD") << id;
    EXPECT_THROW(tokenizer.bytes(id), ValueError) << id;
  }
}

TEST(TokenizerJson, DamagedFilesLoadOrThrow) {
  const Scratch scratch;
  const std::string bytes = small().dump();
  const int thrown = fuzz(scratch / "t.json", bytes, 1, 300, [](const std::filesystem::path& file) {
    const Tokenizer tokenizer = Tokenizer::load(file);
    tokenizer.decode(tokenizer.encode("ab a<e>b"));
  });
  EXPECT_GE(thrown, static_cast<int>(bytes.size()));
}

}  // namespace
}  // namespace halftone::data
