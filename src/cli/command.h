// SPDX-License-Identifier: Apache-2.0
//
// A command is one file that adds itself to the program: a CLI11 subcommand with options, examples in its
// footer and a callback. A callback throws: halftone::Error means exit code 1, CLI::Error means 2 (usage).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

namespace halftone::cli {

// const RegisterCommand registered(order, [](CLI::App& app) { auto* c = app.add_subcommand("formats", ...);
// ... }); Commands are listed by ascending `order` in --help.
class RegisterCommand {
 public:
  using Add = void (*)(CLI::App& app);
  RegisterCommand(int order, Add add);
};

// For main(): every registered command, in order.
void add_commands(CLI::App& app);

// True if standard output is a terminal that takes colours: NO_COLOR is honoured.
bool output_is_terminal();

// Text in bold or pale if standard output takes colours, else as it is.
std::string bold(const std::string& text);
std::string pale(const std::string& text);

// Text that a model wrote, as a terminal may get it: where the stream is one, a control character other than
// newline and tab is replaced. To anything else it goes as it is.
std::string printable(std::FILE* stream, std::string text);

}  // namespace halftone::cli
