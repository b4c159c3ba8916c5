// SPDX-License-Identifier: Apache-2.0
//
// The `halftone` command: finds the subcommand and turns what it throws into one line and an exit code:
// 0 done, 1 failed, 2 not understood.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/command.h"
#include "halftone/warning.h"
#include "train/version.h"

namespace {

constexpr const char* kRestarted = "HALFTONE_RESTARTED";

// Threads that spin while they wait cost a busy machine most of its speed. The OpenMP library reads its
// policy before main() runs, so the program starts itself once more with the policy set. Where that is not
// possible, it goes on as it is.
void restart_with_passive_waiting(char** argv) {
  const bool restarted = std::getenv(kRestarted) != nullptr;
  ::unsetenv(kRestarted);
  if (restarted || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
  ::setenv(kRestarted, "1", 1);
  ::execv("/proc/self/exe", argv);
  ::unsetenv(kRestarted);
}

int complain(const std::string& message, int code) {
  std::fflush(stdout);
  fmt::print(stderr, "halftone: {}\n", message);
  return code;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string help = "halftone";
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    help += " " + command->get_name();
  }
  return complain(fmt::format("{}\nTry '{} --help'.", error.what(), help), 2);
}

int run(int argc, char** argv) {
  CLI::App app(
      "halftone trains neural networks with a few bits per number, and shows what the short formats cost.",
      "halftone");
  app.set_version_flag("--version", "halftone " + std::string(halftone::train::kVersion));
  app.footer(
      "Examples:\n"
      "  halftone train fashion-mnist                          train in float16, write runs/.../report.html\n"
      "  halftone compare fashion-mnist --recipes float32,float16 --seeds 3\n"
      "  halftone inspect 0.1 --format bfloat16                the bits of a number\n"
      "  halftone demo                                         why mixed precision works, computed live\n"
      "'halftone COMMAND --help' shows the options of a command.");
  app.require_subcommand(0, 1);
  halftone::set_warning_handler([](const std::string& message) {
    std::fflush(stdout);
    fmt::print(stderr, "halftone: warning: {}\n", message);
  });
  halftone::cli::add_commands(app);
  if (argc <= 1) {
    fmt::print("{}", app.help());
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // a command that has said everything already
    return error.get_exit_code();
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of the write
  restart_with_passive_waiting(argv);
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0) return complain("standard output cannot be written", 1);
    return code;
  } catch (const CLI::Error& error) {
    return complain(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return complain("out of memory; try a smaller model, --batch or --context", 1);
  } catch (const std::exception& error) {  // halftone::Error: "[where] given; expected; try"
    return complain(error.what(), 1);
  }
}
