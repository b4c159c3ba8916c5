// SPDX-License-Identifier: Apache-2.0
//
// The dictionary at the beginning of a .npy file, in Python's notation: what is read of it and written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halftone/data.h"

namespace halftone::data {

inline constexpr std::int64_t kNpyPrelude = 10;  // bytes before it: magic, version and its length

// Everything but offset and count. Takes keys in any order, either quotes and any spacing, as numpy does.
// Throws FileError naming the file and the byte in it.
NpyHeader parse_npy_dictionary(const std::filesystem::path& file, std::string_view text);

// The dictionary as numpy writes it, without the spaces behind. Throws DTypeError for a format that numpy
// does not have.
std::string npy_dictionary(const std::vector<std::int64_t>& shape, DType dtype);

}  // namespace halftone::data
