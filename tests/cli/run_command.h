// SPDX-License-Identifier: Apache-2.0
//
// Runs the built `halftone` program and keeps what it printed and its exit code.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace halftone {

struct CommandResult {
  int code;
  std::string output;  // standard output and standard error
};

// `arguments` goes through the shell.
inline CommandResult run_command(const std::string& arguments) {
  const std::string line = std::string(HALFTONE_COMMAND) + " " + arguments + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + line);
  CommandResult result{0, ""};
  std::array<char, 4096> buffer;
  while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe))
    result.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace halftone
