// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions by PCRE2. What \s means is spelled out: PCRE2's has U+180E, which is no white space in
// Unicode and not in the library whose ids are to be met.
#include "data/tokenizer_split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/core.h>
#include <pcre2.h>

#include <algorithm>
#include <string>

#include "halftone/error.h"

namespace halftone::data {

namespace {

std::string spell_out_spaces(std::string_view pattern) {
  constexpr std::string_view space = R"(\t-\r\x{85}\p{Z})";
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's')
        out += in_class ? std::string(space) : fmt::format("[{}]", space);
      else if (next == 'S' && !in_class)
        out += fmt::format("[^{}]", space);
      else
        (out += c) += next;
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

}  // namespace

Regex::Regex(std::string_view pattern) {
  const std::string text = spell_out_spaces(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                   &error, &at, nullptr);
  if (code == nullptr)
    throw ValueError("tokenizer", fmt::format("the pattern '{}', wrong near character {}", pattern, at),
                     "a regular expression", "the file as its makers publish it");
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it a match is only slower
  code_ = std::shared_ptr<const void>(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
}

void Regex::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  std::size_t done = 0;
  const auto up_to = [&](std::size_t end) {
    if (end > done) pieces.push_back(text.substr(done, end - done));
    done = end;
  };
  if (code_ == nullptr) return up_to(text.size());
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
  for (std::size_t from = 0; from < text.size();) {
    const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, 0,
                                  match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      throw ValueError("tokenizer", fmt::format("text that the pattern gives up on (PCRE2 error {})", found),
                       "pieces of moderate length", "a shorter text");
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match.get());
    if (span[1] <= span[0]) {  // an empty match cuts nothing
      from = std::max(from, static_cast<std::size_t>(span[0])) + 1;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
      continue;
    }
    up_to(span[0]);
    up_to(span[1]);
    from = done;
  }
  up_to(text.size());
}

}  // namespace halftone::data
