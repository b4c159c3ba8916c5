// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/command.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRefresh = std::chrono::milliseconds(100);

int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool moving_bar() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal && std::string_view(terminal) != "dumb";
}

// Images or tokens per second, and what that is of the machine.
std::string speed(const train::Progress& progress, double per_second) {
  std::string text = fmt::format("{} {}/s", report::decimals(per_second, 0), progress.measure.unit);
  if (progress.of_roofline > 0) text += fmt::format(" ({:.0f} % of roofline)", 100 * progress.of_roofline);
  return text;
}

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler stores into it");

}  // namespace

std::string epoch_line(const train::Progress& progress) {
  const train::EpochRecord& epoch = *progress.finished_epoch;
  const std::string score =
      progress.measure.is_text()
          ? fmt::format("step {} of {}: {} bits per byte, validation loss {}", progress.step,
                        progress.total_steps,
                        report::decimals(progress.measure.bits_per_byte(epoch.test_loss), 4),
                        report::decimals(epoch.test_loss, 4))
          : fmt::format("epoch {} of {}: test accuracy {}, test loss {}", epoch.epoch, progress.epochs,
                        report::percent(epoch.test_accuracy), report::decimals(epoch.test_loss, 4));
  return fmt::format("{}, training loss {}; {}, {}, scale {}, {}", score,
                     report::decimals(epoch.train_loss, 4), report::duration(epoch.seconds),
                     speed(progress, epoch.per_second), report::scale_text(progress.scale),
                     report::plural(progress.skips, "skip"));
}

std::string bar_line(const train::Progress& progress, int width) {
  const double done = progress.total_steps > 0
                          ? static_cast<double>(progress.step) / static_cast<double>(progress.total_steps)
                          : 0;
  const std::string left = progress.measure.is_text()
                               ? fmt::format("step {}/{} ", progress.step, progress.total_steps)
                               : fmt::format("epoch {}/{} ", progress.epoch, progress.epochs);
  const std::string right = fmt::format(
      " {:3.0f} %  loss {}  {}  scale {}  {}  {} left", 100 * done, report::decimals(progress.loss, 3),
      speed(progress, progress.per_second), report::scale_text(progress.scale),
      report::plural(progress.skips, "skip"), report::duration(std::max(1.0, progress.seconds_left)));
  const int room = width - static_cast<int>(left.size() + right.size()) - 3;
  if (room < 4) return (left + right.substr(1)).substr(0, static_cast<std::size_t>(std::max(0, width - 1)));
  const int cells = std::min(room, 30), full = static_cast<int>(done * cells);
  return left + "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(cells - full), '.') + "]" + right;
}

ProgressDisplay::ProgressDisplay(std::string name) : name_(std::move(name)), bar_(moving_bar()) {}

void ProgressDisplay::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

void ProgressDisplay::show(const train::Progress& progress) {
  if (!progress.sample.empty()) {
    clear();
    fmt::print(stderr, "{}step {} writes: {}\n", name_, progress.step, printable(stderr, progress.sample));
  }
  if (progress.finished_epoch) {
    clear();
    fmt::print(stderr, "{}{}\n", name_, epoch_line(progress));
  } else if (const auto now = Clock::now(); bar_ && now - last_ >= kRefresh) {
    last_ = now;
    shown_ = true;
    const int width = terminal_width() - static_cast<int>(name_.size());
    fmt::print(stderr, "\r{}{}\033[K", name_, bar_line(progress, width));
    std::fflush(stderr);
  }
}

const std::atomic<bool>& stop_requested() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = [](int) { stop_flag = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGINT, &action, nullptr) == 0 && ::sigaction(SIGTERM, &action, nullptr) == 0;
  }();
  static_cast<void>(installed);
  return stop_flag;
}

}  // namespace halftone::cli
