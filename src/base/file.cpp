// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "halftone/error.h"

namespace halftone {

std::string read_file(const std::filesystem::path& file, const std::string& expected) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw FileError(file.string(), error ? error.message() : "not a regular file", expected);
  const auto size = std::filesystem::file_size(file, error);
  if (error) throw FileError(file.string(), error.message(), expected);
  std::string bytes(size, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw FileError(file.string(), "can not be opened", expected);
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!stream)
    throw FileError(file.string(), fmt::format("can not be read beyond byte {}", stream.gcount()), expected);
  return bytes;
}

std::size_t json_depth(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

}  // namespace halftone
