// SPDX-License-Identifier: Apache-2.0
//
// A small judge of markup, independent of the code that writes it: every element closed in order, every
// attribute quoted, every & the start of a known reference, nothing fetched from elsewhere.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::report {

inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The first fault, or "".
inline std::string markup_error(std::string_view html) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < html.size(); ++i) {
    const auto here = [&] { return std::string(html.substr(i, 60)); };
    if (html[i] == '&') {
      bool known = false;
      for (const std::string_view reference : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
        known = known || html.substr(i, reference.size()) == reference;
      if (!known) return "a bare & at " + here();
    }
    if (html[i] == '>') return "a bare > at " + here();
    if (html[i] != '<') continue;
    const std::size_t end = html.find('>', i);
    if (end == html.npos) return "an open tag at " + here();
    const std::string_view tag = html.substr(i + 1, end - i - 1);
    if (tag.find('<') != tag.npos) return "a bare < at " + here();
    if (occurrences(tag, "\"") % 2 != 0) return "an open quote at " + here();
    if (tag.rfind("!DOCTYPE", 0) == 0) {
      i = end;
      continue;
    }
    const bool closing = tag[0] == '/', self = tag.back() == '/';
    std::size_t length = closing ? 1 : 0;
    while (length < tag.size() && std::isalnum(static_cast<unsigned char>(tag[length]))) ++length;
    const std::string name(tag.substr(closing ? 1 : 0, length - (closing ? 1 : 0)));
    if (closing) {
      if (open.empty() || open.back() != name)
        return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (!self && name != "meta") {
      open.push_back(name);
    }
    i = end;
    if (!closing && name == "style") i = html.find("</style>", i) - 1;
  }
  if (!open.empty()) return open.back() + " is not closed";
  for (const std::string_view outside : {"http:", "https:", "url(", "<script", "src=", "@import"})
    if (html.find(outside) != html.npos) return "reaches outside: " + std::string(outside);
  return "";
}

}  // namespace halftone::report
