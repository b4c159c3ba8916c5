// SPDX-License-Identifier: Apache-2.0
//
// Lists in messages.
#pragma once

#include <functional>
#include <string>

namespace halftone {

// "a, b, c": of each element what `text` makes of it, a function or a member of the element.
template <class Range, class Text = std::identity>
std::string join(const Range& all, const Text& text = {}) {
  std::string joined;
  const char* separator = "";
  for (const auto& one : all) {
    joined.append(separator).append(std::invoke(text, one));
    separator = ", ";
  }
  return joined;
}

}  // namespace halftone
