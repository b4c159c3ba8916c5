// SPDX-License-Identifier: Apache-2.0
//
// Runs the program on a terminal of so many columns, by the program `script`.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/run_command.h"

namespace halftone {

inline bool has_script() { return std::system("command -v script >/dev/null 2>&1") == 0; }

// Lines end in "\r\n", as a terminal gets them.
inline std::string on_terminal(int columns, const std::string& arguments) {
  const std::string line = "TERM=xterm NO_COLOR= script -qec 'stty cols " + std::to_string(columns) + "; " +
                           HALFTONE_COMMAND + " " + arguments + "' /dev/null </dev/null";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), size);
  pclose(pipe);
  return output;
}

// Without the colours.
inline std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = text.find('m', i);
    else if (text[i] != '\r')
      out += text[i];
  }
  return out;
}

}  // namespace halftone
