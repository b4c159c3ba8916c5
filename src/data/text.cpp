// SPDX-License-Identifier: Apache-2.0
//
// Text as tokens: where it comes from, how it is divided, and windows of it as batches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/file.h"
#include "halftone/data.h"

namespace halftone::data {
std::string load_text(const std::filesystem::path& file) {
  if (file.empty()) return king_james_bible();
  std::string text = read_file(file, "a text");
  if (text.empty()) throw FileError(file.string(), "an empty file", "text");
  return text;
}

std::string king_james_bible() {
  constexpr const char* kCommand = "bible -f gen1:1-rev22:21 2>/dev/null";
  constexpr std::size_t kAtLeast = 4'000'000;
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(kCommand, "r"), ::pclose);
  std::array<char, 65536> piece;
  if (pipe)
    while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe.get()))
      text.append(piece.data(), count);
  if (text.size() < kAtLeast)
    throw FileError("bible", fmt::format("{} bytes from the command \"bible\"", text.size()),
                    "the King James Bible of the Debian package bible-kjv",
                    "apt-get install bible-kjv, or another text with --file");
  return text;
}

std::vector<std::int32_t> load_tokens(const std::filesystem::path& file, std::int32_t vocabulary) {
  const std::string bytes = read_file(file, "a token file");
  if (bytes.empty() || bytes.size() % 2 != 0)
    throw FileError(file.string(), fmt::format("{} bytes", bytes.size()),
                    "tokens of two bytes each (uint16, little-endian)");
  std::vector<std::int32_t> tokens(bytes.size() / 2);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto low = static_cast<unsigned char>(bytes[2 * i]),
               high = static_cast<unsigned char>(bytes[2 * i + 1]);
    tokens[i] = low | high << 8;
    if (vocabulary > 0 && tokens[i] >= vocabulary)
      throw FileError(file.string(), fmt::format("token {} at position {}", tokens[i], i),
                      fmt::format("tokens below {}", vocabulary),
                      "--tokenizer with the tokenizer.json that made the file");
  }
  return tokens;
}

TextSplit split_text(std::string_view text, double validation_share) {
  constexpr std::size_t kLongestCharacter = 4;
  const auto validation = static_cast<std::size_t>(static_cast<double>(text.size()) * validation_share);
  std::size_t begin = text.size() - validation;
  const std::size_t last = std::min(text.size(), begin + kLongestCharacter - 1);
  while (begin < last && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return {text.substr(0, begin), text.substr(begin)};
}

TokenSplit split_tokens(std::vector<std::int32_t> tokens, double validation_share) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  const auto validation = static_cast<std::int64_t>(static_cast<double>(count) * validation_share);
  TokenSplit split;
  split.validation.assign(tokens.end() - validation, tokens.end());
  tokens.resize(static_cast<std::size_t>(count - validation));
  split.training = std::move(tokens);
  return split;
}

void check_windows(const TokenSplit& split, std::int64_t context) {
  const std::int64_t training = std::ssize(split.training), validation = std::ssize(split.validation);
  if (validation < context + 1 || training < context + 1)
    throw ValueError(
        "text", fmt::format("{} tokens, {} of them for validation", training + validation, validation),
        fmt::format("more than {} in each part", context), "a longer text or a shorter --context");
}

Batch gather_windows(const std::vector<std::int32_t>& tokens, std::int64_t context,
                     std::span<const std::int64_t> starts) {
  const Shape shape{static_cast<std::int64_t>(starts.size()), context};
  Batch batch{Tensor(shape, int32), Tensor(shape, int32)};
  auto *inputs = batch.inputs.mutable_data<std::int32_t>(),
       *targets = batch.targets.mutable_data<std::int32_t>();
  for (const std::int64_t start : starts) {
    if (start < 0 || start + context >= static_cast<std::int64_t>(tokens.size()))
      throw ValueError("gather_windows", fmt::format("a window from {}", start),
                       fmt::format("{} tokens and the one after them, of {}", context, tokens.size()));
    inputs = std::copy_n(tokens.begin() + start, context, inputs);
    targets = std::copy_n(tokens.begin() + start + 1, context, targets);
  }
  return batch;
}

}  // namespace halftone::data
