// SPDX-License-Identifier: Apache-2.0
//
// Text cut into pieces by a regular expression with Unicode classes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace halftone::data {

class Regex {
 public:
  Regex() = default;                         // cuts nowhere
  explicit Regex(std::string_view pattern);  // throws ValueError if it is no regular expression

  // Appends each match and each stretch between matches. Bytes that are not UTF-8 match nothing.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  std::shared_ptr<const void> code_;
};

}  // namespace halftone::data
