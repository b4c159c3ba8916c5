// SPDX-License-Identifier: Apache-2.0
#include "halftone/error.h"

namespace halftone {
namespace {

std::string message(std::string_view where, std::string_view given, std::string_view expected,
                    std::string_view hint) {
  std::string text;
  text.append("[").append(where).append("] ").append(given);
  if (!expected.empty()) text.append("; expected ").append(expected);
  if (!hint.empty()) text.append("; try ").append(hint);
  return text;
}

}  // namespace

Error::Error(std::string_view where, std::string_view given, std::string_view expected, std::string_view hint)
    : std::runtime_error(message(where, given, expected, hint)) {}

}  // namespace halftone
