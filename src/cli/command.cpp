// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone::cli {
namespace {

// Filled before main(): inside a function, so that it exists before the first command adds itself.
std::vector<std::pair<int, RegisterCommand::Add>>& commands() {
  static std::vector<std::pair<int, RegisterCommand::Add>> all;
  return all;
}

std::string styled(const char* code, const std::string& text) {
  return output_is_terminal() ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

}  // namespace

RegisterCommand::RegisterCommand(int order, Add add) { commands().emplace_back(order, add); }

void add_commands(CLI::App& app) {
  std::stable_sort(commands().begin(), commands().end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& command : commands()) command.second(app);
}

bool output_is_terminal() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (!no_color || *no_color == '\0') &&
         (!terminal || std::string_view(terminal) != "dumb");
}

std::string bold(const std::string& text) { return styled("1", text); }
std::string pale(const std::string& text) { return styled("2", text); }

std::string printable(std::FILE* stream, std::string text) {
  if (::isatty(::fileno(stream)) != 1) return text;
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7F') c = '?';
  return text;
}

}  // namespace halftone::cli
