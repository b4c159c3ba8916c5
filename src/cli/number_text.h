// SPDX-License-Identifier: Apache-2.0
//
// Text laid out in columns of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halftone::cli {

// Columns that a UTF-8 text takes, colours not counted: a character each, as all that is printed here.
std::size_t columns(std::string_view text);
std::string padded(const std::string& text, std::size_t width);       // with spaces behind it
std::string padded_left(const std::string& text, std::size_t width);  // before it

// Columns of the terminal on standard output; without one what COLUMNS says, or 80.
int terminal_width();

}  // namespace halftone::cli
