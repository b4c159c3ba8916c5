// SPDX-License-Identifier: Apache-2.0
//
// The frame of every page: one file, no script, nothing fetched, light or dark as the reader's system is.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone::report {

// Text made safe for HTML text and attributes. Control characters and bytes that are not UTF-8 become U+FFFD.
std::string escape(std::string_view text);

// A whole document. `title` is text, `body` is HTML.
std::string page(std::string_view title, std::string_view body);

// <section> with a heading (text) around HTML.
std::string section(std::string_view heading, std::string_view html);

// Cells are text. `numeric[i]`: column i is aligned right. The table scrolls sideways inside its own box.
struct Table {
  std::vector<std::string> head;
  std::vector<bool> numeric;
  std::vector<std::vector<std::string>> rows;
};
std::string to_html(const Table& table);

// Names and values (text), as a definition list.
std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs);

// A large number with a caption, for the head of a page.
std::string tiles(const std::vector<std::pair<std::string, std::string>>& value_and_caption);

}  // namespace halftone::report
