// SPDX-License-Identifier: Apache-2.0
//
// Files that are read as a whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace halftone {

// All bytes of a file; `expected` says what it should be. Throws FileError if it is no regular file or can
// not be read.
std::string read_file(const std::filesystem::path& file, const std::string& expected);

// How deep the arrays and objects of a JSON text are nested; 0 for a number. Whatever copies or prints a
// parsed text calls itself so often: text from outside must not be deeper than a stack.
std::size_t json_depth(std::string_view text);

}  // namespace halftone
