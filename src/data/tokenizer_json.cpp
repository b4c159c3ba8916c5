// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json, read and written. A part that is not known here is refused: it could change ids.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/tokenizer_model.h"
#include "halftone/error.h"

namespace halftone::data {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostTokens = 1 << 24;  // an id beyond it is a damaged file
constexpr std::size_t kDeepest = 16;           // arrays and objects in each other; published: half of it

// The code point that names each byte: itself if it is printable, else the next from 256 on.
const std::array<int, 256>& byte_names() {
  static const std::array<int, 256> names = [] {
    std::array<int, 256> made{};
    int next = 256;
    for (int b = 0; b < 256; ++b)
      made[static_cast<std::size_t>(b)] =
          (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174 ? b : next++;
    return made;
  }();
  return names;
}

class Reader {
 public:
  Reader(const std::string& where, const std::string& text) : where_(where) { model_.json = text; }

  TokenizerModel read() {
    if (json_depth(model_.json) > kDeepest) fail("arrays and objects nested too deeply", "a tokenizer.json");
    const Json all = Json::parse(model_.json, nullptr, false);
    if (!all.is_object()) fail("no JSON object", "a tokenizer.json");
    if (!all.contains("model")) fail("no \"model\"", "a tokenizer.json, not a vocab.json or a config.json");
    try {
      parts(all);
    } catch (const nlohmann::json::exception& error) {
      const std::string_view text = error.what();  // "[json.exception.type_error.302] type must be ..."
      fail(std::string(text.substr(text.find(' ') + 1)), "a tokenizer.json");
    } catch (const ValueError& error) {
      fail(error.what(), "a tokenizer.json");
    }
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    throw FileError(where_, what, expected, "the file as its makers publish it");
  }
  [[noreturn]] void unsupported(const std::string& what, const std::string& expected) const {
    throw Unsupported(where_, what, expected,
                      "a file of the kinds of GPT-2, Llama 2 or Llama 3, or --tokenizer bpe");
  }

  static std::vector<Json> steps(const Json& all, const char* part, const char* list) {
    const Json found = all.value(part, Json());
    if (found.is_null()) return {};
    if (found.at("type") == "Sequence") return found.at(list).get<std::vector<Json>>();
    return {found};
  }

  void parts(const Json& all) {
    const Json& model = all.at("model");
    if (const Json type = model.value("type", Json("BPE")); type != "BPE")
      unsupported("a model " + type.dump(), "BPE");
    for (const Json& step : steps(all, "normalizer", "normalizers")) normalizer(step);
    for (const Json& step : steps(all, "pre_tokenizer", "pretokenizers")) pre_tokenizer(step);
    for (const Json& step : steps(all, "decoder", "decoders")) decoder(step);
    if (model_.byte_level != decodes_bytes_)
      fail("ByteLevel on one side only", "it in pre_tokenizer and decoder");
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json text = model.value(affix, Json()); !text.is_null() && text != "")
        unsupported(affix, "none");
    if (const Json dropout = model.value("dropout", Json()); !dropout.is_null() && dropout != 0.0)
      unsupported("dropout", "none");
    model_.byte_fallback = model.value("byte_fallback", false);
    model_.fuse_unknown = model.value("fuse_unk", false);
    model_.ignore_merges = model.value("ignore_merges", false);
    vocabulary(model.at("vocab"));
    merges(model.at("merges"));
    if (const Json unknown = model.value("unk_token", Json()); !unknown.is_null())
      model_.unknown = id_of(unknown.get<std::string>());
    if (const Json added = all.value("added_tokens", Json()); !added.is_null())
      for (const Json& token : added) add(token);
    for (const Json& step : steps(all, "post_processor", "processors")) post_processor(step);
    // Tokens sought in normalized text are normalized themselves, and decoded as others are.
    for (AddedToken& token : model_.normalized_added) {
      token.content = normalize(model_, token.content);
      place(token.id, token.content);
      model_.is_added[static_cast<std::size_t>(token.id)] = false;
    }
    model_.name = model_.byte_level
                      ? model_.merges.empty() && model_.tokens.size() == 256 ? "bytes" : "byte-level bpe"
                  : model_.byte_fallback ? "byte-fallback bpe"
                                         : "bpe";
  }

  void place(std::int64_t id, const std::string& token) {
    if (id < 0 || id >= kMostTokens) fail(fmt::format("the id {}", id), "an id below 2^24");
    const auto at = static_cast<std::size_t>(id);
    if (at >= model_.tokens.size()) {
      model_.tokens.resize(at + 1);
      model_.known.resize(at + 1);
      model_.is_added.resize(at + 1);
    }
    model_.tokens[at] = token;
    model_.known[at] = true;
  }

  std::string token_bytes(const std::string& name) const {
    std::string bytes;
    return model_.byte_level && from_byte_level_name(name, bytes) ? bytes : name;
  }

  std::int32_t id_of(const std::string& name) const {
    const auto found = model_.ids.find(token_bytes(name));
    if (found == model_.ids.end()) fail("'" + name + "', which the vocabulary lacks", "one of its tokens");
    return found->second;
  }

  void vocabulary(const Json& vocab) {
    if (!vocab.is_object()) fail("a vocab that is no object", "tokens with their ids");
    for (const auto& item : vocab.items()) {
      const auto id = item.value().get<std::int64_t>();
      const std::string token = token_bytes(item.key());
      place(id, token);
      model_.ids[token] = static_cast<std::int32_t>(id);
    }
  }

  void merges(const Json& list) {
    std::int32_t rank = 0;
    for (const Json& merge : list) {
      std::string left, right;
      if (merge.is_string()) {
        const auto text = merge.get<std::string>();
        const std::size_t space = text.find(' ');
        if (space == std::string::npos) fail("the merge '" + text + "'", "two tokens with a space between");
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else {
        left = merge.at(0).get<std::string>();
        right = merge.at(1).get<std::string>();
      }
      const std::int32_t first = id_of(left), second = id_of(right);
      model_.merges[pair_key(first, second)] = {rank++, id_of(left + right)};
    }
  }

  void add(const Json& token) {
    const auto content = token.at("content").get<std::string>();
    if (content.empty()) fail("an empty added token", "its text");
    for (const char* flag : {"single_word", "lstrip", "rstrip"})
      if (token.value(flag, false))
        unsupported(fmt::format("the added token '{}' with {}", content, flag), "false");
    const auto id = token.at("id").get<std::int64_t>();
    place(id, content);
    model_.is_added[static_cast<std::size_t>(id)] = true;
    (token.value("normalized", false) ? model_.normalized_added : model_.raw_added)
        .push_back({content, static_cast<std::int32_t>(id)});
  }

  // What other steps than a template add is not for models that go on with a text.
  void post_processor(const Json& step) {
    if (step.at("type") != "TemplateProcessing") return;
    for (const Json& item : step.at("single")) {
      if (!item.contains("SpecialToken")) return;  // the text
      const auto name = item.at("SpecialToken").at("id").get<std::string>();
      for (const Json& number : step.at("special_tokens").at(name).at("ids")) {
        const auto id = number.get<std::int64_t>();
        if (id < 0 || id >= std::ssize(model_.known) || !model_.known[static_cast<std::size_t>(id)])
          fail(fmt::format("the id {} of '{}', which has no token", id, name), "one of the tokens");
        model_.beginning.push_back(static_cast<std::int32_t>(id));
      }
    }
  }

  static std::string pattern_string(const Json& step) {
    return step.at("pattern").at("String").get<std::string>();
  }

  std::pair<std::string, std::string> replacement(const Json& step) const {
    auto from = pattern_string(step);
    if (from.empty()) fail("a Replace of nothing", "text to be replaced");
    return {from, step.at("content").get<std::string>()};
  }

  void normalizer(const Json& step) {
    const auto type = step.at("type").get<std::string>();
    if (type == "Replace") {
      model_.replace.push_back(replacement(step));
    } else if (type == "Prepend" && model_.prepend.empty()) {
      model_.prepend = step.at("prepend").get<std::string>();
      model_.prepend_first = model_.replace.empty();
    } else {
      unsupported("the normalizer " + type, "Prepend once, and Replace");
    }
  }

  std::string metaspace(const Json& step) const {
    auto space = step.at("replacement").get<std::string>();
    if (space.empty()) fail("a Metaspace of nothing", "a character");
    return space;
  }
  // Of a Metaspace: files from before prepend_scheme have add_prefix_space.
  SplitStep::Prefix prefix_scheme(const Json& step) const {
    const bool prefixed = step.value("add_prefix_space", true);
    const auto scheme = step.value("prepend_scheme", std::string(prefixed ? "always" : "never"));
    if (scheme == "always") return SplitStep::Prefix::always;
    if (scheme == "first") return SplitStep::Prefix::first;
    if (scheme != "never") fail("the prepend_scheme " + scheme, "always, first or never");
    return SplitStep::Prefix::none;
  }

  void pre_tokenizer(const Json& step) {
    const auto type = step.at("type").get<std::string>();
    if (model_.byte_level) unsupported(type + " after ByteLevel", "ByteLevel as the last step");
    if (type == "ByteLevel") {
      model_.byte_level = true;
      model_.splits.push_back({.regex = step.value("use_regex", true) ? Regex(kGpt2Pattern) : Regex(),
                               .prefix = step.value("add_prefix_space", true) ? SplitStep::Prefix::always
                                                                              : SplitStep::Prefix::none});
    } else if (type == "Metaspace") {
      model_.splits.push_back({.space = metaspace(step),
                               .prefix = prefix_scheme(step),
                               .cut_before_space = step.value("split", true)});
    } else if (type == "Split" && step.at("behavior") == "Isolated" && !step.value("invert", false) &&
               step.at("pattern").contains("Regex")) {
      model_.splits.push_back({.regex = Regex(step.at("pattern").at("Regex").get<std::string>())});
    } else {
      unsupported("the pre_tokenizer " + step.dump(), "ByteLevel, Metaspace, or Split by a Regex, Isolated");
    }
  }

  void decoder(const Json& step) {
    const auto type = step.at("type").get<std::string>();
    if (type == "ByteLevel") {
      decodes_bytes_ = true;
    } else if (type == "Replace") {
      model_.put_back.push_back(replacement(step));
    } else if (type == "Metaspace") {
      const std::string space = metaspace(step);
      model_.put_back.emplace_back(space, " ");
      if (prefix_scheme(step) != SplitStep::Prefix::none) model_.drop = space;
    } else if (type == "Strip" && step.value("stop", 0) == 0 && model_.strip.empty()) {
      model_.strip = step.at("content").get<std::string>();
      const auto start = step.at("start").get<std::int64_t>();
      if (model_.strip.empty() || start < 0) fail("a Strip of nothing", "a character and how often");
      model_.strip_start = static_cast<std::size_t>(start);
    } else if (type == "ByteFallback") {
      model_.decodes_fallback = true;
    } else if (type != "Fuse") {
      unsupported("the decoder " + type,
                  "ByteLevel, Metaspace, Replace, ByteFallback, Fuse and Strip at the start");
    }
  }

  const std::string& where_;
  TokenizerModel model_;
  bool decodes_bytes_ = false;
};

}  // namespace

std::string byte_level_name(std::string_view bytes) {
  std::string name;
  for (const char c : bytes) {
    const int point = byte_names()[static_cast<unsigned char>(c)];
    if (point < 0x80) {
      name += static_cast<char>(point);
    } else {
      name += static_cast<char>(0xC0 | point >> 6);
      name += static_cast<char>(0x80 | (point & 0x3F));
    }
  }
  return name;
}

bool from_byte_level_name(std::string_view name, std::string& bytes) {
  bytes.clear();
  for (std::size_t i = 0; i < name.size(); ++i) {
    int point = static_cast<unsigned char>(name[i]);
    if (point >= 0x80) {
      if (point < 0xC2 || point > 0xDF || i + 1 == name.size()) return false;
      point = (point & 0x1F) << 6 | (static_cast<unsigned char>(name[++i]) & 0x3F);
    }
    const auto found = std::find(byte_names().begin(), byte_names().end(), point);
    if (found == byte_names().end()) return false;
    bytes += static_cast<char>(found - byte_names().begin());
  }
  return true;
}

std::string byte_level_json(const std::vector<std::string>& tokens,
                            const std::vector<std::pair<std::int32_t, std::int32_t>>& merges,
                            bool use_regex) {
  Json vocab = Json::object(), list = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) vocab[byte_level_name(tokens[i])] = i;
  for (const auto& merge : merges)
    list.push_back({byte_level_name(tokens[static_cast<std::size_t>(merge.first)]),
                    byte_level_name(tokens[static_cast<std::size_t>(merge.second)])});
  const Json level{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
  const Json all{{"version", "1.0"},
                 {"truncation", nullptr},
                 {"padding", nullptr},
                 {"added_tokens", Json::array()},
                 {"normalizer", nullptr},
                 {"pre_tokenizer", level},
                 {"post_processor", nullptr},
                 {"decoder", level},
                 {"model",
                  {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false},
                   {"vocab", vocab},
                   {"merges", list}}}};
  return all.dump(1) + "\n";
}

TokenizerModel parse_tokenizer(const std::string& where, const std::string& text) {
  return Reader(where, text).read();
}

}  // namespace halftone::data
