// SPDX-License-Identifier: Apache-2.0
//
// From text to ids and back: added tokens are taken out, what is left is normalized, split and merged.
#include "halftone/tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/atomic_file.h"
#include "base/file.h"
#include "data/tokenizer_model.h"
#include "halftone/error.h"

namespace halftone::data {

namespace {

constexpr const char* kFile = "tokenizer.json";

// Calls text(part) and token(id) for the stretches of a text, in order; of several tokens at one place the
// longest is taken.
template <class OnText, class OnToken>
void take_out(std::string_view text, const std::vector<AddedToken>& added, OnText on_text, OnToken on_token) {
  std::array<bool, 256> begins{};  // by the first byte: few places begin like a token
  for (const AddedToken& token : added) begins[static_cast<unsigned char>(token.content[0])] = true;
  std::size_t done = 0;
  for (std::size_t i = 0; !added.empty() && i < text.size();) {
    if (!begins[static_cast<unsigned char>(text[i])]) {
      ++i;
      continue;
    }
    const AddedToken* best = nullptr;
    for (const AddedToken& token : added)
      if (text.substr(i).starts_with(token.content) &&
          (best == nullptr || token.content.size() > best->content.size()))
        best = &token;
    if (best == nullptr) {
      ++i;
      continue;
    }
    if (i > done) on_text(text.substr(done, i - done));
    on_token(best->id);
    i = done = i + best->content.size();
  }
  if (done < text.size()) on_text(text.substr(done));
}

class Encoder {
 public:
  explicit Encoder(const TokenizerModel& model) : model_(model) {}

  std::vector<std::int32_t> encode(std::string_view text) {
    const auto token = [&](std::int32_t id) { ids_.push_back(id); };
    take_out(
        text, model_.raw_added,
        [&](std::string_view part) {
          const std::string normal = normalize(model_, part);
          const bool at_start = part.data() == text.data();
          take_out(
              normal, model_.normalized_added,
              [&](std::string_view rest) { split(rest, 0, at_start && rest.data() == normal.data()); },
              token);
        },
        token);
    return std::move(ids_);
  }

 private:
  // at_start: of the whole text.
  void split(std::string_view text, std::size_t step, bool at_start) {
    if (step == model_.splits.size()) return piece(text);
    const SplitStep& how = model_.splits[step];
    const bool prefixed =
        how.prefix == SplitStep::Prefix::always || (how.prefix == SplitStep::Prefix::first && at_start);
    std::string spaced;
    if (how.space != " ") text = spaced = replace_all(text, " ", how.space);
    if (prefixed && !text.starts_with(how.space)) text = spaced = how.space + std::string(text);
    std::vector<std::string_view> pieces;
    if (how.cut_before_space)
      cut_before(text, how.space, pieces);
    else
      how.regex.split(text, pieces);
    for (const std::string_view part : pieces) split(part, step + 1, at_start && part.data() == text.data());
  }

  static void cut_before(std::string_view text, std::string_view mark,
                         std::vector<std::string_view>& pieces) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(mark, 1), text.size());
      pieces.push_back(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  void piece(std::string_view text) {
    if (text.size() > kLongestKept) return append_piece(model_, text, ids_);
    const auto [found, is_new] = kept_.try_emplace(std::string(text));
    if (is_new) append_piece(model_, text, found->second);
    ids_.insert(ids_.end(), found->second.begin(), found->second.end());
  }

  static constexpr std::size_t kLongestKept = 64;  // words repeat, long pieces do not
  const TokenizerModel& model_;
  std::vector<std::int32_t> ids_;
  std::unordered_map<std::string, std::vector<std::int32_t>> kept_;
};

}  // namespace

std::string normalize(const TokenizerModel& model, std::string_view text) {
  std::string out(text);
  if (model.prepend_first) out = model.prepend + out;
  for (const auto& rule : model.replace) out = replace_all(out, rule.first, rule.second);
  return model.prepend_first ? out : model.prepend + out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

Tokenizer::Tokenizer() : Tokenizer(bytes()) {}
Tokenizer::Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {}

Tokenizer Tokenizer::bytes() {
  static const auto model = std::make_shared<const TokenizerModel>(train_model("", 256));
  return Tokenizer(model);
}

Tokenizer Tokenizer::train_bpe(std::string_view text, std::int64_t vocabulary) {
  return Tokenizer(std::make_shared<const TokenizerModel>(train_model(text, vocabulary)));
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / kFile : path;
  const std::string text = read_file(file, "a tokenizer.json");
  return Tokenizer(std::make_shared<const TokenizerModel>(parse_tokenizer(file.string(), text)));
}

void Tokenizer::save(const std::filesystem::path& folder) const {
  write_file(folder / kFile, model_->json);
  write_file(folder / "tokenizer_config.json", "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}\n");
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  return Encoder(*model_).encode(text);
}

bool Tokenizer::has(std::int32_t id) const {
  return id >= 0 && id < vocabulary() && model_->known[static_cast<std::size_t>(id)];
}

std::string Tokenizer::bytes(std::int32_t id) const {
  const auto at = static_cast<std::size_t>(id);
  if (!has(id))
    throw ValueError("tokenizer", fmt::format("the id {}", id),
                     fmt::format("an id below {} that has a token", vocabulary()));
  const std::string& token = model_->tokens[at];
  if (model_->is_added[at] || model_->byte_level) return token;
  if (model_->decodes_fallback && token.size() == 6 && token.starts_with("<0x") && token.back() == '>' &&
      token.find_first_not_of("0123456789ABCDEF", 3) == 5)
    return std::string(1, static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16)));
  std::string text = token;
  for (const auto& rule : model_->put_back) text = replace_all(text, rule.first, rule.second);
  return text;
}

std::string Tokenizer::shown(std::int32_t id) const { return has(id) ? bytes(id) : "\uFFFD"; }

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += bytes(id);
  if (!ids.empty() && !model_->drop.empty()) {
    const std::string& first = model_->tokens[static_cast<std::size_t>(ids[0])];
    if (first.find(model_->drop) != first.npos)
      text.replace(0, bytes(ids[0]).size(), replace_all(first, model_->drop, ""));
  }
  for (std::size_t i = 0; i < model_->strip_start && text.starts_with(model_->strip); ++i)
    text.erase(0, model_->strip.size());
  return text;
}

std::int64_t Tokenizer::vocabulary() const { return static_cast<std::int64_t>(model_->tokens.size()); }
std::int64_t Tokenizer::base_vocabulary() const {
  std::int64_t count = vocabulary();
  const auto is_added = [&](const std::vector<AddedToken>& added) {
    return std::any_of(added.begin(), added.end(), [&](const AddedToken& t) { return t.id == count - 1; });
  };
  while (is_added(model_->raw_added) || is_added(model_->normalized_added)) --count;
  return count;
}
const std::vector<std::int32_t>& Tokenizer::beginning() const { return model_->beginning; }
const std::string& Tokenizer::name() const { return model_->name; }

}  // namespace halftone::data
