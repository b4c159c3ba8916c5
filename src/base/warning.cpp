// SPDX-License-Identifier: Apache-2.0
#include "halftone/warning.h"

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "halftone/error.h"

namespace halftone {
namespace {

struct Warnings {
  std::mutex mutex;
  WarningHandler handler;
  std::set<std::string, std::less<>> seen;
  std::vector<std::string> unread;
};

Warnings& warnings() {
  static auto* all = new Warnings;  // never destroyed: threads may outlive main
  return *all;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  Warnings& all = warnings();
  std::vector<std::string> unread;
  WarningHandler before;
  {
    const std::lock_guard lock(all.mutex);
    before = std::exchange(all.handler, handler);
    all.seen.clear();
    if (handler) unread.swap(all.unread);
  }
  for (const std::string& message : unread) handler(message);
  return before;
}

void warn_once(std::string_view where, std::string_view given, std::string_view expected,
               std::string_view try_this) {
  const std::string message = Error(where, given, expected, try_this).what();
  Warnings& all = warnings();
  WarningHandler handler;
  {
    const std::lock_guard lock(all.mutex);
    if (!all.seen.insert(message).second) return;
    handler = all.handler;
    if (!handler) all.unread.push_back(message);
  }
  if (handler) handler(message);
}

}  // namespace halftone
